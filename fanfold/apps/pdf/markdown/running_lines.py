"""Tells what belongs to the pages and not to their text: running headers and footers, page numbers, stamps in the margin.

Only what is proven goes: it recurs on several pages at the same place, at the edge, and is no part of a paragraph.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from fanfold.apps.pdf.markdown import layout
from fanfold.apps.pdf.markdown.layout import Line
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage, Turned

# Running headers and footers stand in these shares of the height, on at least so many pages, at the same height.
_TOP, _BOTTOM = 0.14, 0.87
_BAND_ROWS = 4
_FOOT = 0.92
_REPEATED = 3
_SAME_HEIGHT = 6.0
# Stamps run along this share of the width, at either side.
_MARGIN = 0.1
# A line that has another one of its type that close to it is text.
_CLOSE = 0.6
_SAME_TYPE = 0.3
# Rows of a list are at most this far apart, in sizes of their type.
_LINES_APART = 3.0

_INTEGER = re.compile(r"(?<![\d.])\d{1,5}(?![\d.])")
_OFFSET = re.compile(r"@(-?\d+)")
_NO_WORD = re.compile(r"[^\w#@-]+")
_NUMBERS = re.compile(r"\d+(?:\W*\d+)*")
_PAGE_NUMBER = re.compile(
    r"[-–—·|\s]*(?:page|pg\.?|p\.|seite|第)?\s*(?:\d{1,4}|[ivxl]{1,7})\s*(?:页|頁)?[\s,，]*"
    r"(?:(?:of|von|/|共)\s*\d{1,4}\s*(?:页|頁)?)?[-–—·|\s]*",
    re.IGNORECASE,
)
_PAGE_OF = re.compile(r"\b(?:page|seite|pág\.?)\s+\d{1,4}\s*(?:/|of|von|de)\s*\d{1,4}\s*$", re.IGNORECASE)


def signatures(text: str, page: int, offsets: Iterable[int] | None = None) -> list[str]:
    """What of a header stays the same from page to page: all of it, or all but a number that counts with the pages.

    A number counts if it is always the page's plus the same offset; these offsets are tried, or else all there are.
    """
    plain = text.casefold()
    found = [_words(plain)]
    numbers = {int(number) - page for number in _INTEGER.findall(plain)}
    for offset in numbers if offsets is None else numbers.intersection(offsets):
        counted = str(page + offset)
        marked = _INTEGER.sub(lambda match: f"@{offset}" if match[0] == counted else match[0], plain)  # noqa: B023
        found.append(_words(marked))
    return found


def _words(text: str) -> str:
    return _NO_WORD.sub(" ", text).strip()


class Running:
    """The headers and footers of one document, as its survey found them."""

    def __init__(self, survey: dict[str, Any]) -> None:
        self._heights: dict[str, list[float]] = defaultdict(list)
        for text, height in survey.get("running", ()):
            self._heights[text].append(height)
        self._stamps: dict[str, list[float]] = defaultdict(list)
        for text, height in survey.get("stamps", ()):
            self._stamps[text].append(height)
        self._offsets = {int(offset) for text in self._heights for offset in _OFFSET.findall(text)}

    def drop(self, page: RawPage, body: float) -> list[str]:
        """Take running headers, footers, page numbers and stamps off a page; returns what they said."""
        above, below = _edges(page)
        rows = [*self._running_rows(above, page, body), *self._running_rows(below[::-1], page, body)]
        dropped = {id(piece): piece.text for row in rows for piece in row.pieces}
        page.pieces = [piece for piece in page.pieces if id(piece) not in dropped]
        return [*dropped.values(), *self._unstamped(page)]

    def _running_rows(self, rows: list[Line], page: RawPage, body: float) -> list[Line]:
        """The rows, given from the edge of the page inwards, that are headers or footers and not the page's own text.

        Text that recurs is no header where other text stands between it and the edge, nor where it is part of a paragraph.
        """
        running: list[Line] = []
        numbered: list[Line] = []
        behind_text = False
        for row in rows:
            if _is_page_number(row, page) or _has_page_number(row, page, body):
                numbered.append(row)
            elif behind_text or not self._repeats(row, page):
                behind_text = True
            else:
                running.append(row)
        while running and _goes_on(running[-1], page, [*running, *numbered]):
            running.pop()
        return running + numbered

    def _unstamped(self, page: RawPage) -> list[str]:
        """Take stamps off a page; returns what they said."""
        dropped: dict[int, str] = {}
        for group in page.turned:
            for row in _margin_rows(group):
                known = self._stamps.get(_without_numbers(row.text), ())
                if any(abs(height - row.y0) < _SAME_HEIGHT for height in known):
                    dropped.update((id(piece), piece.text) for piece in row.pieces)
            group.pieces = [piece for piece in group.pieces if id(piece) not in dropped]
        page.turned = [group for group in page.turned if group.pieces]
        return list(dropped.values())

    def _repeats(self, row: Line, page: RawPage) -> bool:
        """Whether a line is known from other pages, or most of it: the rest may be the title of a section."""
        if self._known(row.text, row.y0, page):
            return True
        parts = [piece for piece in row.pieces if _tells(piece.text)]
        known = sum(len(piece.text) for piece in parts if self._known(piece.text, piece.y0, page))
        return 2 * known > len(row.text)

    def _known(self, text: str, height: float, page: RawPage) -> bool:
        found = signatures(text, page.number, self._offsets)
        if height > page.height * _FOOT:
            found.append(_without_numbers(text))
        return any(abs(known - height) < _SAME_HEIGHT for text in found for known in self._heights.get(text, ()))


def _goes_on(row: Line, page: RawPage, aside: Iterable[Line]) -> bool:
    """Whether a line is part of a paragraph: the next or the one before, other than those set aside, follows it closely."""
    gaps = (after.x0 - before.x1 for before, after in pairwise(row.pieces))
    if any(gap > 1.5 * row.size for gap in gaps):
        return False
    height = row.y1 - row.y0
    known = {id(piece) for line in aside for piece in line.pieces}
    return any(
        abs(piece.x0 - row.x0) < height
        and abs(piece.size - row.size) < _SAME_TYPE
        and min(abs(piece.y0 - row.y1), abs(row.y0 - piece.y1)) < height * _CLOSE
        for piece in page.pieces
        if id(piece) not in known
    )


def _without_numbers(text: str) -> str:
    """At the very foot of a page any number may change, as that of a section does; higher up that would hit titles."""
    return _words(_NUMBERS.sub("#", text.casefold()))


def repeated(pages: Iterable[RawPage]) -> list[list[Any]]:
    """What several pages have at their edges, at the same height: the text as it is compared, and the height."""
    places: dict[str, list[float]] = defaultdict(list)
    for page in pages:
        for text, height in _edge_texts(page):
            found = signatures(text, page.number)
            if height > page.height * _FOOT:
                found.append(_without_numbers(text))
            for known in found:
                places[known].append(height)
    return [[text, round(height, 1)] for text, heights in sorted(places.items()) for height in _common_heights(heights)]


def stamps(pages: Iterable[RawPage]) -> list[list[Any]]:
    """Lines that run up or down the margin of several pages, at the same place: proven to be stamps."""
    places: dict[str, list[float]] = defaultdict(list)
    for page in pages:
        for group in page.turned:
            for row in _margin_rows(group):
                places[_without_numbers(row.text)].append(row.y0)
    return [[text, round(height, 1)] for text, heights in sorted(places.items()) for height in _common_heights(heights)]


def _margin_rows(group: Turned) -> list[Line]:
    """The lines of turned text that run along the left or right margin of their page."""
    if group.angle not in (90, 270):
        return []
    edge = _MARGIN * group.height
    return [row for row in layout.lines(group.pieces) if row.y1 < edge or row.y0 > group.height - edge]


def _edge_texts(page: RawPage) -> Iterable[tuple[str, float]]:
    for row in edge_rows(page):
        yield row.text, row.y0
        if len(row.pieces) > 1:
            yield from ((piece.text, piece.y0) for piece in row.pieces if _tells(piece.text))


def _tells(text: str) -> bool:
    """Whether part of a line says enough to be known again: "Annual Report", but not "Exhibit" or a date."""
    return " " in text and sum(map(str.isalpha, text)) >= 8


def _common_heights(heights: list[float]) -> list[float]:
    common: list[float] = []
    for height in sorted(heights):
        near = sum(abs(other - height) < _SAME_HEIGHT for other in heights)
        if near >= _REPEATED and not any(abs(known - height) < _SAME_HEIGHT for known in common):
            common.append(height)
    return common


def edge_rows(page: RawPage) -> list[Line]:
    """The first and last lines of a page, where headers and footers stand."""
    above, below = _edges(page)
    return above + below


def _edges(page: RawPage) -> tuple[list[Line], list[Line]]:
    top = [piece for piece in page.pieces if piece.y1 < page.height * _TOP]
    bottom = [piece for piece in page.pieces if piece.y0 > page.height * _BOTTOM]
    return layout.lines(top)[:_BAND_ROWS], layout.lines(bottom)[-_BAND_ROWS:]


def _is_page_number(row: Line, page: RawPage) -> bool:
    return _PAGE_NUMBER.fullmatch(row.text) is not None and _outermost(row, page)


def _has_page_number(row: Line, page: RawPage, body: float) -> bool:
    """A line with a number standing apart at one end: the header of a document of too few pages to compare."""
    if _PAGE_OF.search(row.text):
        return _outermost(row, page, beyond=1)
    if len(row.pieces) < 2:
        return False
    first, last = row.pieces[0], row.pieces[-1]
    if first.text.isdigit():
        number, apart = first, row.pieces[1].x0 - first.x1
    elif last.text.isdigit():
        number, apart = last, last.x0 - row.pieces[-2].x1
    else:
        return False
    small = row.size < 0.95 * body
    far = apart > (1.5 if small else 8) * row.size
    return far and _outermost(row, page, beyond=1) and not _is_in_a_column(number, page)


def _is_in_a_column(number: Piece, page: RawPage) -> bool:
    """Whether another number stands right above or below one, as in a table or a list of contents."""
    return any(
        min(abs(other.x0 - number.x0), abs(other.x1 - number.x1)) < number.size / 2
        and 0 < abs(other.y0 - number.y0) < _LINES_APART * number.size
        for other in page.pieces
        if other is not number and other.text.replace(",", "").replace(".", "").isdigit()
    )


def _outermost(row: Line, page: RawPage, beyond: int = 0) -> bool:
    """Whether nothing (or only ``beyond`` pieces) stands above a line, or nothing below it."""
    own = set(map(id, row.pieces))
    others = [piece for piece in page.pieces if id(piece) not in own]
    above = sum(piece.y1 < row.y0 + 1 for piece in others)
    below = sum(piece.y0 > row.y1 - 1 for piece in others)
    return bool(others) and (above <= beyond or below <= beyond)
