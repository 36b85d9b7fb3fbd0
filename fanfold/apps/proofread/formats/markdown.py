"""Reads and writes Markdown. Paragraphs, headings and cells are blocks; code, link targets, HTML, math, front matter stay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import fanfold as ff
from fanfold.apps.proofread.formats.book import Block, BlockKind, Book, Brackets, Place
from fanfold.apps.proofread.formats.encodings import STATEFUL, decode_span, detect, encode, line_ends
from fanfold.apps.proofread.formats.epub import shown_with_markers
from fanfold.apps.proofread.formats.markdown_inline import WRITER, inline_pieces, label
from fanfold.apps.proofread.formats.segments import rebuild
from fanfold.apps.proofread.formats.source import Source
from fanfold.apps.proofread.formats.text import broken_report, newline_of
from fanfold.apps.proofread.markers import free_brackets
from fanfold.apps.proofread.sentences import say_of_proofread

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_DEFINITION = re.compile(r" {0,3}\[(?!\^)([^\[\]]+)\]:\s*\S+")
_OPENS = re.compile(r"(#{1,6}(?=\s|$)|[-+*>](?=\s)|>|[0-9]{1,9}(?=[.)](?:\s|$))|(?:```|~~~|===|---|___|\*\*\*))")
"""The start of a line that would begin another block."""
_HTML = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"(---|\+\+\+)\s*")


@dataclass(frozen=True)
class Line:
    """A line of the file: its text without the newline, and its position."""

    text: str
    start: int
    end: int
    whole: bool
    """Whether encoding its text again gives the same bytes."""


@dataclass(frozen=True)
class Passage:
    """The source of a block: part of one line, or of several lines with the prefix of each."""

    kind: BlockKind
    lines: tuple[tuple[int, int, int], ...]
    """Number of the line, and where the passage begins and ends in it."""


def read_markdown(source: Source, encoding: str | None = None) -> Book:
    """Read a Markdown file."""
    found = detect(source.data, encoding)
    if found.name in STATEFUL:
        raise ff.Permanent(
            say_of_proofread("stateful_encoding", file=source.name, encoding=found.name), code="stateful_encoding"
        )
    lines = _lines(source.data, found.name, len(found.mark))
    brackets = free_brackets("\n".join(line.text for line in lines))
    blocks: list[Block] = []
    labels = _labels(lines)
    for passage in _passages(lines):
        block = _block(str(len(blocks) + 1), lines, passage, found.name, brackets, labels)
        if block is not None:
            blocks.append(block)
    newline = newline_of(source.data, found, line_ends(source.data[len(found.mark) :], found.name))
    reports = broken_report(source, found)
    notes = _html_notes(lines, source.name)
    return Book("md", source.path, source.digest, tuple(blocks), found.name, newline, brackets, reports, notes)


def write_markdown(book: Book, source: Source, changed: Mapping[str, str], encoding: str | None = None) -> bytes:
    """The file with changed blocks. If the encoding is kept, all other bytes stay unchanged."""
    found = detect(source.data[:4], book.encoding)
    lines = _lines(source.data, book.encoding, len(found.mark))
    passages = {_place(lines, one, book.encoding): one for one in _passages(lines)}
    target = encoding or book.encoding
    labels = _labels(lines)
    pieces, at = [found.mark if target == book.encoding else b""], len(found.mark)
    for block in book.blocks:
        if block.id in changed:
            new = _rewritten(lines, passages[block.place], changed[block.id], book, labels)
            pieces += [
                _kept(source.data[at : block.place.start], book, target, source),
                encode(new, target, source.name),
            ]
            at = block.place.end
    return b"".join([*pieces, _kept(source.data[at:], book, target, source)])


def _kept(data: bytes, book: Book, target: str, source: Source) -> bytes:
    return data if target == book.encoding else encode(decode_span(data, book.encoding), target, source.name)


def _lines(data: bytes, encoding: str, skipped: int) -> list[Line]:
    body = data[skipped:]
    ends = line_ends(body, encoding)
    starts, stops = [0, *(after for _, after in ends)], [*(end for end, _ in ends), len(body)]
    lines = []
    for start, stop in zip(starts, stops, strict=True):
        text = decode_span(body[start:stop], encoding)
        lines.append(Line(text, start + skipped, stop + skipped, text.encode(encoding, "replace") == body[start:stop]))
    return lines


def _passages(lines: Sequence[Line]) -> Iterator[Passage]:
    """The source of every block, in order; passages with broken bytes are left out."""
    kind = BlockKind.PARAGRAPH
    column: dict[int, int] = {}
    for token in _parser().parse(_parsed_part(lines)):
        kind = _kind(token, kind)
        if token.type != "inline" or token.map is None:
            continue
        passage = _located(token, lines, kind, column)
        if passage is not None and all(lines[number].whole for number, _, _ in passage.lines):
            yield passage


def _parsed_part(lines: Sequence[Line]) -> str:
    """The text without front matter and link definitions, with the same lines."""
    skipped = _front_matter(lines)
    hidden = (number < skipped or _DEFINITION.match(line.text) is not None for number, line in enumerate(lines))
    return "\n".join("" if hide else line.text for hide, line in zip(hidden, lines, strict=True))


def _html_notes(lines: Sequence[Line], file: str) -> tuple[str, ...]:
    """A message about blocks of HTML with text, which are kept and not sent."""
    if not any(line.text.lstrip().startswith("<") for line in lines):
        return ()
    blocks = (token.content for token in _parser().parse(_parsed_part(lines)) if token.type == "html_block")
    found = [shown for block in blocks if any(map(str.isalpha, shown := " ".join(_HTML.sub(" ", block).split())))]
    return (say_of_proofread("html_kept", file=file, count=len(found), first=found[0][:60]),) if found else ()


def _front_matter(lines: Sequence[Line]) -> int:
    """The number of lines of the front matter, with the lines that enclose it. A blank line after the first makes it a rule."""
    opened = _FENCE.fullmatch(lines[0].text) if lines else None
    if opened is None or len(lines) < 2 or not lines[1].text.strip():
        return 0
    closing = (opened[1], "...") if opened[1] == "---" else (opened[1],)
    return next((at + 1 for at, line in enumerate(lines[1:], start=1) if line.text.rstrip() in closing), 0)


def _kind(token: Token, before: BlockKind) -> BlockKind:
    kinds = {"heading_open": BlockKind.HEAD, "td_open": BlockKind.CELL, "th_open": BlockKind.CELL}
    return kinds.get(token.type, BlockKind.PARAGRAPH) if token.type.endswith("_open") else before


def _located(token: Token, lines: Sequence[Line], kind: BlockKind, column: dict[int, int]) -> Passage | None:
    """The position of a token's content. ``column`` is how far each line was searched, because several cells share a line."""
    assert token.map is not None
    places = []
    number = token.map[0]
    for content in token.content.split("\n"):
        bare = content.strip()
        at = lines[number].text.find(bare, column.get(number, 0)) if bare and number < len(lines) else -1
        if at < 0 and "|" in bare and number < len(lines):
            bare = bare.replace("|", "\\|")  # The parser removes this backslash in cells.
            at = lines[number].text.find(bare, column.get(number, 0))
        if at < 0:
            return None
        places.append((number, at, at + len(bare)))
        column[number] = at + len(bare)
        number += 1
    return Passage(kind, tuple(places))


def _flat(lines: Sequence[Line], passage: Passage) -> str:
    return "\n".join(lines[number].text[start:end] for number, start, end in passage.lines)


def _labels(lines: Sequence[Line]) -> frozenset[str]:
    """The labels of all link definitions."""
    return frozenset(label(found[1]) for line in lines if (found := _DEFINITION.match(line.text)))


def _block(
    name: str, lines: Sequence[Line], passage: Passage, encoding: str, brackets: Brackets, labels: frozenset[str]
) -> Block | None:
    flat = _flat(lines, passage)
    pieces = inline_pieces(flat, labels)
    if not pieces:
        return None
    text, markers = shown_with_markers(flat, pieces, brackets, str)
    return Block(name, text, _place(lines, passage, encoding), markers, passage.kind)


def _place(lines: Sequence[Line], passage: Passage, encoding: str) -> Place:
    (first, start, _), (last, _, end) = passage.lines[0], passage.lines[-1]
    before = len(lines[first].text[:start].encode(encoding))
    inside = len(lines[last].text[:end].encode(encoding))
    return Place(lines[first].start + before, lines[last].start + inside)


def _rewritten(lines: Sequence[Line], passage: Passage, text: str, book: Book, labels: frozenset[str]) -> str:
    """The source of a changed block. Lines keep their prefix; added lines get that of the second line, or a list's indent."""
    flat = _flat(lines, passage)
    pieces = inline_pieces(flat, labels)
    text = _fitting(text, passage.kind)
    new = flat[: pieces[0].start] + rebuild(flat, pieces, text, book.brackets, WRITER) + flat[pieces[-1].end :]
    out, written = [], new.split("\n")
    for at, line in enumerate(written):
        number, start, end = passage.lines[at] if at < len(passage.lines) else (0, 0, 0)
        before = lines[number].text[:start] if end else _prefix(lines, passage)
        # Two blanks at the end of a line are a line break.
        after = lines[number].text[end:] if end and at + 1 < min(len(passage.lines), len(written)) else ""
        out.append((before if at else "") + _unopened(line, lines[number].text[start:end]) + after)
    return book.newline.join(out)


def _fitting(text: str, kind: BlockKind) -> str:
    """A new text as its block can hold it: a cell and a heading have one line, and a paragraph has no blank line."""
    if kind is BlockKind.PARAGRAPH:
        return re.sub(r"\n\s*\n", "\n", text)
    text = re.sub(r"\s*\n\s*", " ", text)
    return re.sub(r"(?<!\\)\|", r"\\|", text) if kind is BlockKind.CELL else text


def _unopened(line: str, before: str) -> str:
    """A new line that begins no other block than the line before it was changed."""
    found = _OPENS.match(line)
    if found is None or _OPENS.match(before):
        return line
    return f"{line[: found.end()]}\\{line[found.end() :]}" if line[0].isdigit() else f"\\{line}"


def _prefix(lines: Sequence[Line], passage: Passage) -> str:
    if len(passage.lines) > 1:
        number, start, _ = passage.lines[1]
        return lines[number].text[:start]
    number, start, _ = passage.lines[0]
    return re.sub(r"[^>\s]", " ", lines[number].text[:start])


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Link definitions are removed first, because the rule would also treat footnotes as definitions.
    return MarkdownIt("commonmark").enable("table").disable("reference")
