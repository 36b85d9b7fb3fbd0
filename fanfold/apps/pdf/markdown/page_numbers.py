"""Recognises page numbers: numbers at the edge of the page that increase with the pages.

In a document with too few numbers to compare, a number counts as a page number only on a page with much other text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fanfold.apps.pdf.markdown.layout import Line
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage

# Minimum pages on which a number must increase with the pages.
_COUNTED = 2
_SAME_HEIGHT = 6.0
# Maximum distance between rows of a list, in multiples of the type size.
_LINES_APART = 3.0
MUCH_TEXT = 150
"""Minimum letters and digits of a page that is more than a label, a ticket or a slide."""

_PAGE_NUMBER = re.compile(
    r"[-–—·|\s]*(?:page|pg\.?|p\.|seite|第)?\s*(?P<number>\d{1,4}|[ivxl]{1,7})\s*(?:页|頁)?[\s,，]*"
    r"(?:(?:of|von|/|共)\s*\d{1,4}\s*(?:页|頁)?)?[-–—·|\s]*",
    re.IGNORECASE,
)
_PAGE_OF = re.compile(r"\b(?:page|seite|pág\.?)\s+\d{1,4}\s*(?:/|of|von|de)\s*\d{1,4}\s*$", re.IGNORECASE)
_ROMAN = re.compile(r"(?=.)(x[l]|l?x{0,3})(i[xv]|v?i{0,3})", re.IGNORECASE)
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50}


@dataclass(frozen=True, slots=True)
class Numbered:
    """A line at the edge that looks like a page number or a header with one."""

    number: int
    height: float
    says_so: bool = False
    """Whether it reads like "page 3 of 12", which can only be a page number."""
    is_plain: bool = True
    """Whether the line is in small type or has nothing beside its number."""


def numbered(row: Line, page: RawPage, body: float) -> Numbered | None:
    """The candidate page number of a line, alone or in a header; None for any other line."""
    alone = _PAGE_NUMBER.fullmatch(row.text)
    if alone is not None and _outermost(row, page):
        number = _value(alone["number"])
        return None if number is None else Numbered(number, row.y0, _PAGE_OF.search(row.text) is not None)
    if _PAGE_OF.search(row.text):
        return Numbered(0, row.y0, says_so=True) if _outermost(row, page, beyond=1) else None
    return _beside_text(row, page, body)


def survey(pages: Iterable[tuple[RawPage, list[Line]]], body: float) -> dict[str, Any]:
    """What the numbers at page edges have in common: their offset from the page index, and their heights."""
    heights: dict[int, dict[int, float]] = defaultdict(dict)
    seen: set[int] = set()
    for page, rows in pages:
        for found in filter(None, (numbered(row, page, body) for row in rows)):
            if not found.says_so:
                seen.add(page.number)
                heights[found.number - page.number][page.number] = found.height
    counting = {offset: places.values() for offset, places in heights.items() if len(places) >= _COUNTED}
    return {
        "seen": len(seen),
        "offsets": sorted(counting),
        "heights": sorted({round(height, 1) for places in counting.values() for height in _recurring(list(places))}),
    }


class PageNumbers:
    """The page numbers of one document, from its survey."""

    def __init__(self, found: dict[str, Any]) -> None:
        self._offsets = set(found.get("offsets", ()))
        self._heights = list(found.get("heights", ()))
        self._can_compare = found.get("seen", 0) >= _COUNTED

    def hold(self, row: Line, page: RawPage, body: float) -> bool:
        """Whether a line is its page's number or a header containing it."""
        found = numbered(row, page, body)
        if found is None or found.says_so:
            return found is not None
        if self._can_compare:
            if found.number - page.number in self._offsets:
                return True
            # A number that does not count may still be in the place of those that do: the front matter of a book.
            in_place = any(abs(height - found.height) < _SAME_HEIGHT for height in self._heights)
            return in_place and _has_much_beside(row, page)
        return found.is_plain and _has_much_beside(row, page)


def _has_much_beside(row: Line, page: RawPage) -> bool:
    return sum(map(str.isalnum, page.text)) - len(row.text) >= MUCH_TEXT


def _recurring(heights: list[float]) -> list[float]:
    return [height for height in heights if sum(abs(other - height) < _SAME_HEIGHT for other in heights) >= _COUNTED]


def _value(text: str) -> int | None:
    if text.isdigit():
        return int(text)
    if _ROMAN.fullmatch(text) is None:
        return None
    values = [_ROMAN_VALUES[letter] for letter in text.casefold()]
    return sum(-value if value < max(values[index:]) else value for index, value in enumerate(values))


def _beside_text(row: Line, page: RawPage, body: float) -> Numbered | None:
    """A line with a number set apart at one end: a header in a document with too few pages to compare."""
    if len(row.pieces) < 2:
        return None
    first, last = row.pieces[0], row.pieces[-1]
    if first.text.isdigit():
        number, apart = first, row.pieces[1].x0 - first.x1
    elif last.text.isdigit():
        number, apart = last, last.x0 - row.pieces[-2].x1
    else:
        return None
    small = row.size < 0.95 * body
    far = apart > (1.5 if small else 8) * row.size
    is_header = far and _outermost(row, page, beyond=1) and not _is_in_a_column(number, page)
    return Numbered(int(number.text), row.y0, is_plain=small) if is_header else None


def _is_in_a_column(number: Piece, page: RawPage) -> bool:
    """Whether another number is directly above or below, as in a table or a table of contents."""
    return any(
        min(abs(other.x0 - number.x0), abs(other.x1 - number.x1)) < number.size / 2
        and 0 < abs(other.y0 - number.y0) < _LINES_APART * number.size
        for other in page.pieces
        if other is not number and other.text.replace(",", "").replace(".", "").isdigit()
    )


def _outermost(row: Line, page: RawPage, beyond: int = 0) -> bool:
    """Whether at most ``beyond`` pieces are above the line, or at most that many below it."""
    own = set(map(id, row.pieces))
    others = [piece for piece in page.pieces if id(piece) not in own]
    above = sum(piece.y1 < row.y0 + 1 for piece in others)
    below = sum(piece.y0 > row.y1 - 1 for piece in others)
    return bool(others) and (above <= beyond or below <= beyond)
