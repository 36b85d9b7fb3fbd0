"""Recognises headings and their levels: by the document's outline, by type size, weight and capitals, and by numbering.

A heading is missed less easily than a caption, a label of a form or an author's name is taken for one, so every rule but
that of the outline asks for more than one sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fanfold.apps.pdf.heads.faces import Faces, is_underlined
from fanfold.apps.pdf.heads.heading_words import (
    ADDRESS,
    CAPTION,
    DATE,
    DEPTH,
    NUMBERED,
    STATEMENT,
    VALUE,
    WELL_KNOWN,
)
from fanfold.apps.pdf.heads.outline_titles import outlined_level, titles
from fanfold.apps.pdf.heads.signs import Signs, is_text_in
from fanfold.apps.pdf.markdown import blocks
from fanfold.apps.pdf.markdown.blocks import Block
from fanfold.apps.pdf.markdown.layout import Line
from fanfold.apps.pdf.markdown.pieces import ITALIC, style

_LONGEST = 200
_LONGEST_PLAIN = 90
_MOST_LINES = 4
_LARGER = 1.12
_DEEPEST = 6
_SAME_SIZE = 0.06
# A longer bold text with a colon at its end leads to what follows.
_LONGEST_LABEL = 6
# Bold headings may be set in slightly smaller type than the text.
_SMALLEST = 0.88
# In multiples of the type size: a wider gap within a line is between cells, not words.
_CELL_GAP = 3.0

# A title in plain type has at most this many words and no sentence in it.
_MOST_WORDS = 12
_SLIGHTLY_LARGER = 1.05
_SENTENCE_END = re.compile(r"[.!?;,](?:\s|$)")

_ENDS = (".", ",", ";")


class Headings:
    """Heading rules for one document: its outline by page and its type sizes."""

    def __init__(self, survey: dict[str, Any]) -> None:
        self.body = float(survey.get("body") or 0.0)
        self.ladder = [float(size) for size in survey.get("ladder", ())]
        self.levels = [int(level) for level in survey.get("levels", ())] or list(range(1, len(self.ladder) + 1))
        self._texts = [float(size) for size in survey.get("texts", ())]
        self._bold_body = bool(survey.get("bold_body"))
        self._outline = titles(survey.get("outline", ()))
        self._faces = Faces(survey.get("faces", ()))
        known = survey.get("plain_titles")
        self.plain_titles = 0
        """How many titles were found by their slant or place alone. One in a document is a quotation or a motto."""
        self._trusts_plain = known is None or int(known) > 1
        self._seen = sorted({int(level) for level in survey.get("headings", ())})

    def mark_columns(self, columns: Iterable[Sequence[Line]], page: int) -> Iterator[Block]:
        """The blocks of a page, column by column, with its headings marked."""
        begun = False
        before: list[Block] = []
        parts = list(columns)
        for number, column in enumerate(parts, 1):
            is_last = number == len(parts)
            found = self.mark(blocks.group(column), page, begun=begun, before=before, is_last=is_last)
            begun = begun or is_text_in(found)
            before.extend(found)
            yield from found

    def mark(
        self,
        found: Sequence[Block],
        page: int,
        *,
        begun: bool = False,
        before: Sequence[Block] = (),
        is_last: bool = True,
    ) -> list[Block]:
        """Mark the paragraphs of a column that are headings.

        ``before`` are the blocks of the page's earlier columns, ``begun`` tells whether running text is among them, and
        ``is_last`` whether no other column follows.
        """
        marked: list[Block] = []
        parts = [part for block in found for part in _without_title(block)]
        signs = Signs(parts, page, self._bold_body, self._faces, begun=begun, before=before, is_last=is_last)
        for index, block in enumerate(parts):
            level = self._level(block, page, signs, index)
            if level is None:
                marked.append(block)
            elif self._continues(marked, block, level):
                marked[-1].lines.extend(block.lines)
            else:
                marked.append(Block("heading", block.lines, level=level))
        for block in marked:
            if block.kind == "heading":
                block.level = self._closed_up(block.level)
        return marked

    def _closed_up(self, level: int) -> int:
        """The level without those that the document does not use, so that levels begin at 1 and leave none out."""
        if not self._seen:
            return min(level, _DEEPEST)
        return min(1 + sum(seen < level for seen in self._seen), _DEEPEST)

    def _continues(self, marked: list[Block], block: Block, level: int) -> bool:
        """Whether a heading continues on the next line: same level, directly below, and without its own number."""
        if not marked or marked[-1].kind != "heading" or marked[-1].level != level:
            return False
        above, below = marked[-1].lines[-1], block.lines[0]
        near = -0.4 * below.size <= below.y0 - above.y1 < 0.6 * below.size
        return near and below.size >= self.body * _LARGER and not DEPTH.match(below.text)

    def _level(self, block: Block, page: int, signs: Signs, index: int) -> int | None:
        if block.kind not in ("paragraph", "item") or len(block.lines) > _MOST_LINES:
            return None
        text = " ".join(line.text for line in block.lines)
        if len(text) > _LONGEST or not any(character.isalpha() for character in text):
            return None
        if _is_contents_entry(block.lines[-1]):
            return None
        outlined = outlined_level(text, self._outline.get(page))
        if outlined is not None:
            return outlined
        levels = {piece.tagged_level for line in block.lines for piece in line.pieces}
        if len(levels) == 1 and 0 not in levels:
            return levels.pop()
        if block.kind == "item" and block.marker and not block.marker[0].isalnum():
            return None
        if signs.is_contents(index) or _is_other(text, block) or (signs.page == 1 and signs.is_author(index, text)):
            return None
        return self._by_type(block, text, signs, index)

    def _by_type(self, block: Block, text: str, signs: Signs, index: int) -> int | None:
        size = block.lines[0].size
        if self.body and size >= self.body * _LARGER and not self._is_text(size):
            if (text.endswith(_ENDS) and len(text) > 60) or (text[0].islower() and len(text) > 40):
                return None
            return self._rung(size)
        if size < _SMALLEST * self.body or len(block.lines) > 3 or len(text) > _LONGEST_PLAIN * 2:
            return None
        is_lead_in = text.endswith((":", "：")) and len(text.split()) > _LONGEST_LABEL
        if text.endswith(_ENDS) or is_lead_in or text[0].islower() or STATEMENT.match(text):
            return None
        if not self._stands_out(block, text, signs, index):
            return None
        numbered = DEPTH.match(text)
        depth = numbered[1].count(".") if numbered else 0
        lighter = not numbered and not text.isupper() and not all(line.bold for line in block.lines)
        return max(self.levels, default=0) + 1 + depth + lighter

    def _is_text(self, size: float) -> bool:
        """Whether much of the text has this size, though most of it is smaller."""
        return any(abs(size - other) <= _SAME_SIZE * other for other in self._texts)

    def _stands_out(self, block: Block, text: str, signs: Signs, index: int) -> bool:
        """Whether a short text in body size is set or worded like a heading."""
        bold = all(line.bold for line in block.lines)
        if bold:
            return not signs.mostly_bold and not signs.is_term(index) and not signs.is_label(index)
        following = signs.blocks[index + 1] if index + 1 < len(signs.blocks) else None
        if len(block.lines) > 2 or len(text) > _LONGEST_PLAIN:
            return False
        if (
            WELL_KNOWN.fullmatch(text.rstrip(":"))
            and len(block.lines) == 1
            and text[0].isupper() | (not text.isascii())
        ):
            return following is not None and not signs.is_list(index)
        if text.isupper() and sum(map(str.isalpha, text)) > 3:
            return following is not None and not signs.mostly_capitals and following.kind != "table"
        if following is None or signs.is_list(index):
            return False
        if self._is_set_apart(block, text, signs, index):
            return True
        if not NUMBERED.match(text):
            return False
        rest = NUMBERED.sub("", text, count=1).strip()
        # In italics at the top of a column it is more often a running head.
        set_off = (index > 0 and all(map(_is_italic, block.lines))) or signs.is_above_text(index)
        return set_off and rest[:1].isupper() and len(rest.split()) <= 10 and not re.search(r"[.!?:;]\s|[:=]$", rest)

    def _is_set_apart(self, block: Block, text: str, signs: Signs, index: int) -> bool:
        """Whether a title in plain type differs from the text by its face, a line below it, its size or its place."""
        if len(text.split()) > _MOST_WORDS or _SENTENCE_END.search(text) or not signs.leads_to_text(index):
            return False
        if text.endswith((":", "：")) or not signs.is_in_text(index):
            return False
        if all(map(is_underlined, block.lines)):
            return True
        other = signs.is_other_face(block) or block.lines[0].size > _SLIGHTLY_LARGER * self.body
        if other and (not index or not all(map(_is_italic, block.lines))):
            return not index or signs.is_set_off(index)
        is_plain = signs.is_set_off(index) and (all(map(_is_italic, block.lines)) or signs.is_centred(block))
        self.plain_titles += is_plain
        return is_plain and self._trusts_plain

    def _rung(self, size: float) -> int:
        index = rung(size, self.ladder)
        return self.levels[index] if index is not None else max(self.levels, default=1)


def _without_title(block: Block) -> list[Block]:
    """A paragraph, apart from a first line that is worded like a title and ends early."""
    if block.kind not in ("paragraph", "item") or len(block.lines) < 2:
        return [block]
    if all(line.bold and NUMBERED.match(line.text) for line in block.lines):
        return [Block("paragraph", [line]) for line in block.lines]
    first, second = block.lines[:2]
    if first.x1 - first.x0 > 0.6 * (second.x1 - second.x0) or second.text[:1].islower():
        return [block]
    rest = NUMBERED.sub("", first.text, count=1).strip()
    is_numbered = rest != first.text and rest[:1].isupper() and not re.search(r"[.!?:;,](?:\s|$)", rest)
    if not is_numbered and not WELL_KNOWN.fullmatch(first.text.rstrip(":")):
        return [block]
    breaks = {at - 1 for at in block.breaks if at > 1}
    return [Block("paragraph", [first]), Block("paragraph", block.lines[1:], breaks)]


def _is_other(text: str, block: Block) -> bool:
    """Whether a short text is a caption, an address, a date, a figure or a row of cells, however it is set."""
    inked = sum(not character.isspace() for character in text)
    if sum(map(str.isalpha, text)) < 0.4 * inked or text[0] in "([" or DATE.fullmatch(text):
        return True
    if CAPTION.match(text) or ADDRESS.search(text) or VALUE.fullmatch(text):
        return True
    if all(line.mono for line in block.lines):
        return True
    return any(_has_cells(line) for line in block.lines)


def _has_cells(line: Line) -> bool:
    edge = line.x0
    for number, piece in enumerate(line.pieces):
        # The number of a heading may stand apart.
        if number > 1 and piece.x0 - edge > _CELL_GAP * line.size:
            return True
        edge = max(edge, piece.x1)
    return False


def _is_italic(line: Line) -> bool:
    flags = [flag for piece in line.pieces for flag in piece.flags or [ITALIC if style(piece.face)[2] else 0]]
    return bool(flags) and 10 * sum(bool(flag & ITALIC) for flag in flags) >= 7 * len(flags)


def _is_contents_entry(line: Line) -> bool:
    """Whether a line ends with a number far to the right or after leader dots: an entry in a table of contents."""
    if re.search(r"(?:\.\s?){3,}\s*\d+$", line.text):
        return True
    if len(line.pieces) < 2 or not line.pieces[-1].text.isdigit():
        return False
    return line.pieces[-1].x0 - line.pieces[-2].x1 > 3 * line.size


def rung(size: float, ladder: Sequence[float]) -> int | None:
    """Index of this size among the heading sizes, largest first."""
    return next((index for index, known in enumerate(ladder) if size >= known * (1 - _SAME_SIZE)), None)
