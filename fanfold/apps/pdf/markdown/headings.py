"""Recognises headings and their levels: first by the document's outline, then by type size, then by bold type."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from fanfold.apps.pdf.markdown.blocks import Block
from fanfold.apps.pdf.markdown.layout import Line

_LONGEST = 200
_MOST_LINES = 4
_LARGER = 1.12
_DEEPEST = 6
_SAME_SIZE = 0.06

_NUMBERING = re.compile(
    r"(?:(?:chapter|section|part|appendix)\s+)?([0-9]{1,3}(?:\.[0-9]{1,3})*|[A-Z])[.):]?\s+(?=\S)", re.IGNORECASE
)
_DEPTH = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,4})\.?\s+\S")


class Headings:
    """Heading rules for one document: its outline by page and its type sizes."""

    def __init__(self, survey: dict[str, Any]) -> None:
        self.body = float(survey.get("body") or 0.0)
        self.ladder = [float(size) for size in survey.get("ladder", ())]
        self.levels = [int(level) for level in survey.get("levels", ())] or list(range(1, len(self.ladder) + 1))
        self._outline = titles(survey.get("outline", ()))

    def mark(self, blocks: Sequence[Block], page: int) -> list[Block]:
        """Mark the paragraphs that are headings."""
        marked: list[Block] = []
        for index, block in enumerate(blocks):
            level = self._level(block, page, blocks[index + 1] if index + 1 < len(blocks) else None)
            if level is None:
                marked.append(block)
            elif self._continues(marked, block, level):
                marked[-1].lines.extend(block.lines)
            else:
                marked.append(Block("heading", block.lines, level=level))
        return marked

    def _continues(self, marked: list[Block], block: Block, level: int) -> bool:
        """Whether a heading continues on the next line: same level, directly below, and without its own number."""
        if not marked or marked[-1].kind != "heading" or marked[-1].level != level:
            return False
        above, below = marked[-1].lines[-1], block.lines[0]
        near = 0 <= below.y0 - above.y1 < 0.6 * below.size
        return near and below.size >= self.body * _LARGER and not _DEPTH.match(below.text)

    def _level(self, block: Block, page: int, following: Block | None) -> int | None:
        if block.kind not in ("paragraph", "item") or len(block.lines) > _MOST_LINES:
            return None
        text = " ".join(line.text for line in block.lines)
        if len(text) > _LONGEST or not any(character.isalpha() for character in text):
            return None
        if _is_contents_entry(block.lines[-1]):
            return None
        outlined = outlined_level(text, self._outline.get(page))
        if outlined is not None:
            return min(outlined, _DEEPEST)
        if block.kind == "item" and block.marker and not block.marker[0].isalnum():
            return None
        return self._by_type(block, text, following)

    def _by_type(self, block: Block, text: str, following: Block | None) -> int | None:
        size = block.lines[0].size
        if self.body and size >= self.body * _LARGER:
            if text.endswith((".", ",", ";")) and len(text) > 60:
                return None
            return self._rung(size)
        stands_out = all(line.bold for line in block.lines) or (text.isupper() and following is not None)
        if not stands_out or size < 0.95 * self.body or len(block.lines) > 2 or text.endswith((".", ",", ";")):
            return None
        numbered = _DEPTH.match(text)
        depth = numbered[1].count(".") if numbered else 0
        return min(max(self.levels, default=0) + 1 + depth, _DEEPEST)

    def _rung(self, size: float) -> int:
        index = rung(size, self.ladder)
        return self.levels[index] if index is not None else max(self.levels, default=1)


def _is_contents_entry(line: Line) -> bool:
    """Whether a line ends with a number far to the right: an entry in a table of contents."""
    if len(line.pieces) < 2 or not line.pieces[-1].text.isdigit():
        return False
    return line.pieces[-1].x0 - line.pieces[-2].x1 > 3 * line.size


def rung(size: float, ladder: Sequence[float]) -> int | None:
    """Index of this size among the heading sizes, largest first."""
    return next((index for index, known in enumerate(ladder) if size >= known * (1 - _SAME_SIZE)), None)


def titles(outline: Iterable[Sequence[Any]]) -> dict[int, dict[str, int]]:
    """Level of each outline title, by page, with and without its number."""
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for title, page, level in outline:
        for key in (_key(title), _key(_NUMBERING.sub("", title, count=1))):
            found[page].setdefault(key, level)
    return found


def outlined_level(text: str, known: dict[str, int] | None) -> int | None:
    """Level of a text in the outline, if it is a title on this page."""
    if not known:
        return None
    level = known.get(_key(text))
    return level if level is not None else known.get(_key(_NUMBERING.sub("", text, count=1)))


def _key(title: str) -> str:
    """A title normalised for comparison: hyphens, spaces and leader dots differ between outline and page."""
    return re.sub(r"[\W_]+", "", title.casefold())
