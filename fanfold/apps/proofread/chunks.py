"""Splits blocks into chunks for a model at natural boundaries, and checks that joining them loses nothing.

A chunk begins at a chapter heading if possible; otherwise it ends at a scene break, or between two paragraphs. Short
chapters share a chunk, because every call also pays for its instructions and its context. Only a paragraph that is
longer than a chunk is divided, at the ends of sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import fanfold as ff
from fanfold.apps.proofread.formats.book import Block, BlockKind
from fanfold.apps.proofread.formats.paragraphs import NEWLINE, is_separator
from fanfold.apps.proofread.scripts import mostly_cjk
from fanfold.apps.proofread.sentences import say_of_proofread

CHARACTERS_CJK = 1_500
CHARACTERS_LATIN = 4_000
"""Usual size of a chunk: both are about 1200 tokens."""
SMALLEST_LIMIT = 20
EARLY_BREAK = 0.6
"""A scene break or a chapter heading ends a chunk that is at least this full."""

_SENTENCE_END = re.compile(r"[。！？!?…][。！？!?…”’」』）)\"']*|\.[”’)\"']*(?=\s)|[;；](?=\s|[^\x00-\x7f])|\n")
_WEAK_END = re.compile(r"[，,、：:]|\s+")


@dataclass(frozen=True)
class Part:
    """A block, or a piece of a long one. ``id`` is unique in the book."""

    id: str
    block: str
    text: str
    kind: BlockKind = BlockKind.PARAGRAPH
    shown: tuple[tuple[str, str], ...] = ()
    """Markers that stand for text, such as code or a word with its reading, each with that text."""


@dataclass(frozen=True)
class Chunk:
    """Parts that are sent to a model together. ``chapter`` is the chapter heading above them."""

    number: int
    parts: tuple[Part, ...]
    chapter: str = ""

    @property
    def characters(self) -> int:
        """The size of the text."""
        return sum(len(part.text) for part in self.parts)


def usual_limit(blocks: Sequence[Block]) -> int:
    """The usual size of a chunk for the script of this text."""
    middle = blocks[max(0, len(blocks) // 2 - 100) :][:400]
    return CHARACTERS_CJK if mostly_cjk("".join(block.text for block in middle)[:20_000]) else CHARACTERS_LATIN


def split_chunks(blocks: Sequence[Block], limit: int | None = None) -> tuple[Chunk, ...]:
    """Divide blocks into chunks of at most ``limit`` characters, without gaps and blocks that have no letter."""
    limit = max(limit or usual_limit(blocks), SMALLEST_LIMIT)
    groups: list[list[Part]] = []
    for section in _sections(blocks, limit):
        groups += _filled(section, limit)
    chunks, chapter = [], ""
    for number, group in enumerate(groups, start=1):
        headings = [part.text.strip() for part in group if part.kind is BlockKind.HEAD]
        begins_with_heading = group[0].kind is BlockKind.HEAD
        chunks.append(Chunk(number, tuple(group), headings[0] if begins_with_heading else chapter))
        chapter = headings[-1] if headings else chapter
    return tuple(chunks)


def reassemble(parts: Iterable[Part], texts: Mapping[str, str]) -> dict[str, str]:
    """The text of every block, joined from the texts of its parts. A part without a new text keeps its source text."""
    blocks: dict[str, list[str]] = {}
    for part in parts:
        blocks.setdefault(part.block, []).append(texts.get(part.id, part.text))
    return {block: "".join(pieces) for block, pieces in blocks.items()}


def prove_complete(blocks: Sequence[Block], chunks: Sequence[Chunk]) -> None:
    """Raise Permanent unless the chunks contain every editable block, complete and in order."""
    together = reassemble((part for chunk in chunks for part in chunk.parts), {})
    wanted = {block.id: block.text for block in blocks if block.editable}
    if list(together) != list(wanted) or together != wanted:
        lost = next((name for name in wanted if together.get(name) != wanted[name]), "")
        raise ff.Permanent(say_of_proofread("chunks_incomplete", block=lost), code="chunks_incomplete")


def surroundings(chunks: Sequence[Chunk], at: int, size: int = 250) -> tuple[str, str]:
    """The source before and after a chunk, cut at words or sentences: context that the model reads but does not answer."""
    before = "\n".join(part.text for part in chunks[at - 1].parts) if at > 0 else ""
    after = "\n".join(part.text for part in chunks[at + 1].parts) if at + 1 < len(chunks) else ""
    found = _SENTENCE_END.search(before, max(0, len(before) - size)) if len(before) > size else None
    start = found.end() if found and found.end() < len(before) else max(0, len(before) - size)
    return before[start:].strip(), (divide(after, size) or [""])[0].strip()


def divide(text: str, limit: int) -> list[str]:
    """Pieces of a long text of at most ``limit`` characters, cut after a sentence, else after a word, else anywhere."""
    pieces = []
    while len(text) > limit:
        at = _cut(text, limit)
        pieces.append(text[:at])
        text = text[at:]
    return [*pieces, text] if text else pieces


def _sections(blocks: Sequence[Block], limit: int) -> Iterable[list[tuple[Block, bool]]]:
    """Blocks grouped by chapter, short chapters together, each block with whether a scene break or chapter precedes it."""
    section: list[tuple[Block, bool]] = []
    broken = False
    size = 0
    for block in blocks:
        if not block.editable:
            broken = broken or is_separator(block.text) or len(NEWLINE.findall(block.text)) > 2
            continue
        if block.kind is BlockKind.HEAD and section and section[-1][0].kind is not BlockKind.HEAD:
            broken = True
            if size >= EARLY_BREAK * limit:
                yield section
                section, size = [], 0
        section.append((block, broken))
        broken = False
        size += len(block.text)
    if section:
        yield section


def _filled(section: Sequence[tuple[Block, bool]], limit: int) -> list[list[Part]]:
    """Fill chunks with the blocks of a section."""
    groups: list[list[Part]] = [[]]
    size = 0
    for block, broken in section:
        for part in _parts(block, limit):
            early = broken and size >= EARLY_BREAK * limit
            if groups[-1] and (early or size + len(part.text) > limit):
                groups.append([])
                size = 0
            groups[-1].append(part)
            size += len(part.text)
            broken = False
    return groups


def _parts(block: Block, limit: int) -> list[Part]:
    if len(block.text) <= limit:
        return [Part(block.id, block.id, block.text, block.kind)]
    pieces = divide(block.text, limit)
    return [Part(f"{block.id}.{at}", block.id, piece, block.kind) for at, piece in enumerate(pieces, start=1)]


def _cut(text: str, limit: int) -> int:
    """Where to cut: at the last end of a sentence in the window, unless the piece would be too small."""
    for pattern, least in ((_SENTENCE_END, limit // 3), (_WEAK_END, limit // 2)):
        ends = [found.end() for found in pattern.finditer(text, least, limit)]
        good = [end for end in ends if end <= limit and not _inside_marker(text, end)]
        if good:
            return good[-1]
    at = limit
    while at > 1 and (_inside_marker(text, at) or _combines(text[at])):
        at -= 1
    return at if at > 1 else limit


def _inside_marker(text: str, at: int) -> bool:
    """Whether a cut would divide a numbered marker, in any kind of brackets."""
    found = _MARKER_LIKE.search(text, max(0, at - 12), at + 12)
    while found is not None and found.start() < at:
        if found.end() > at:
            return True
        found = _MARKER_LIKE.search(text, found.end(), at + 12)
    return False


def _combines(character: str) -> bool:
    import unicodedata

    return unicodedata.category(character) in ("Mn", "Me", "Mc") or character == "\u200d"


_MARKER_LIKE = re.compile(r"[^\w\s/]/?[0-9]{1,6}[^\w\s/]")
