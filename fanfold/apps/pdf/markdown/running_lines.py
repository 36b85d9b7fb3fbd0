"""Tells what belongs to the pages and not to their text: running headers and footers, page numbers, stamps in the margin.

Only what is proven goes: it recurs on several pages at the same place, at the edge, beside other text, and is no part of a
paragraph or table. `running_survey` finds the proof, `page_numbers` that of numbers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

from fanfold.apps.pdf.markdown import layout
from fanfold.apps.pdf.markdown.layout import Line
from fanfold.apps.pdf.markdown.page_numbers import PageNumbers
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage, Turned

# Running headers and footers stand in these shares of the height, on all their pages at the same height.
_TOP, _BOTTOM = 0.14, 0.87
_BAND_ROWS = 4
SAME_HEIGHT = 6.0
# What the titles of sections in running lines may take of a page; more would be missed.
_MOST_UNPROVEN = 0.02
# A page keeps at least this share of its letters and digits, or its running lines are its text.
_LEAST_LEFT = 0.2
# Type this much larger than the body's is a title's.
_LARGER = 1.12
# Stamps run along this share of the width, at either side.
_MARGIN = 0.1
# A line that has another one of its type that close to it is text.
_CLOSE = 0.6
_SAME_TYPE = 0.3
# Rows of a table are at most this far apart, in sizes of their type.
_ROWS_APART = 2.5

_INTEGER = re.compile(r"(?<![\d.])\d{1,5}(?![\d.])")
_OFFSET = re.compile(r"@(-?\d+)")
_NO_WORD = re.compile(r"[^\w#@-]+")
_NUMBERS = re.compile(r"\d+(?:\W*\d+)*")


def signatures(text: str, page: int, offsets: Collection[int] | None = None) -> list[str]:
    """What of a header stays the same from page to page: all of it, or all but a number that counts with the pages.

    A number counts if it is always the page's plus the same offset; these offsets are tried, or else all there are.
    """
    plain = text.casefold()
    found = {_words(plain)}
    numbers = [(match, int(match[0]) - page) for match in _INTEGER.finditer(plain)]
    for match, offset in numbers:
        if offsets is None or offset in offsets:
            found.add(_words(_marked(plain, [match], offset)))
            found.add(_words(_marked(plain, [other for other, same in numbers if same == offset], offset)))
    return sorted(found)


def _marked(text: str, numbers: list[re.Match[str]], offset: int) -> str:
    """A text with an offset in the place of these numbers."""
    for match in reversed(numbers):
        text = f"{text[: match.start()]}@{offset}{text[match.end() :]}"
    return text


def _words(text: str) -> str:
    return _NO_WORD.sub(" ", text).strip()


class Places:
    """Lines that recur, as they are compared, each with the heights at which it stands."""

    def __init__(self, found: Iterable[Sequence[Any]]) -> None:
        self._heights: dict[str, list[float]] = defaultdict(list)
        for text, height in found:
            self._heights[text].append(height)
        self._offsets = {int(offset) for text in self._heights for offset in _OFFSET.findall(text)}

    def know(self, text: str, height: float, page: int) -> bool:
        """Whether other pages say the same at this height, or the same but for a number that counts with the pages."""
        return self.hold(signatures(text, page, self._offsets), height)

    def hold(self, texts: Iterable[str], height: float) -> bool:
        """Whether one of these texts, as they are compared, stands at this height."""
        return any(abs(known - height) < SAME_HEIGHT for text in texts for known in self._heights.get(text, ()))


class Running:
    """The headers and footers of one document, as its survey found them."""

    def __init__(self, survey: dict[str, Any]) -> None:
        self._proven = Places(survey.get("running", ()))
        # Surveys of tasks that an older version has split know no proof.
        self._recurring = Places(survey.get("recurring", survey.get("running", ())))
        self._stamps = Places(survey.get("stamps", ()))
        self._numbers = PageNumbers(survey.get("numbers", {}))

    def drop(self, page: RawPage, body: float) -> list[str]:
        """Take running headers, footers, page numbers and stamps off a page; returns what they said, as far as it is proven.

        A page that would be left with next to nothing keeps them all: then they are its text.
        """
        proven, unproven = self._headers(page, body)
        for row in self._stamped(page):
            (proven if self._stamps.know(row.text, row.y0, page.number) else unproven).extend(row.pieces)
        if sum(size(piece.text) for piece in unproven) > _MOST_UNPROVEN * size(page.text):
            unproven = []
        gone = {id(piece) for piece in proven + unproven}
        if not _leaves_enough(page, gone):
            return []
        page.pieces = [piece for piece in page.pieces if id(piece) not in gone]
        for group in page.turned:
            group.pieces = [piece for piece in group.pieces if id(piece) not in gone]
        page.turned = [group for group in page.turned if group.pieces]
        return [piece.text for piece in proven]

    def beside(self, page: RawPage, body: float) -> list[Piece]:
        """The pieces of a page that do not recur at the edges of other pages: on a scan with a stamp there are none."""
        recurring = {id(piece) for row in self._rows(page, body, self._recurring) for piece in row.pieces}
        return [piece for piece in page.pieces if id(piece) not in recurring]

    def _rows(self, page: RawPage, body: float, places: Places) -> list[Line]:
        above, below = edges(page)
        return [*self._running_rows(above, page, body, places), *self._running_rows(below[::-1], page, body, places)]

    def _running_rows(self, rows: list[Line], page: RawPage, body: float, places: Places) -> list[Line]:
        """The rows, given from the edge of the page inwards, that are headers or footers and not the page's own text.

        Text that recurs is no header where other text stands between it and the edge, nor where it is part of a paragraph.
        """
        running: list[Line] = []
        numbered: list[Line] = []
        behind_text = False
        for row in rows:
            if self._numbers.hold(row, page, body):
                numbered.append(row)
            elif behind_text or not _repeats(row, page, places):
                behind_text = True
            else:
                running.append(row)
        while running and _goes_on(running[-1], page, [*running, *numbered]):
            running.pop()
        return running + numbered

    def _headers(self, page: RawPage, body: float) -> tuple[list[Piece], list[Piece]]:
        """The pieces of headers and footers that are known or count the pages; and the rest of their lines.

        The rest may be the title of a section.
        """
        proven: list[Piece] = []
        unproven: list[Piece] = []
        for row in self._rows(page, body, self._proven):
            whole = self._proven.know(row.text, row.y0, page.number) or self._numbers.hold(row, page, body)
            for piece in row.pieces:
                is_known = whole or self._proven.know(piece.text, piece.y0, page.number)
                (proven if is_known else unproven).append(piece)
        return proven, unproven

    def _stamped(self, page: RawPage) -> list[Line]:
        """The lines of a page that are stamps, whatever their numbers."""
        rows = [row for group in page.turned for row in margin_rows(group)]
        return [row for row in rows if self._stamps.hold([without_numbers(row.text)], row.y0)]


def _repeats(row: Line, page: RawPage, places: Places) -> bool:
    """Whether a line is known from other pages, or most of it."""
    if places.know(row.text, row.y0, page.number):
        return True
    parts = [piece for piece in row.pieces if tells(piece.text)]
    known = sum(size(piece.text) for piece in parts if places.know(piece.text, piece.y0, page.number))
    return 2 * known > size(row.text)


def _leaves_enough(page: RawPage, gone: set[int]) -> bool:
    groups = [page.pieces, *(group.pieces for group in page.turned)]
    left = sum(size(piece.text) for group in groups for piece in group if id(piece) not in gone)
    return left > 0 and left >= _LEAST_LEFT * size(page.text)


def size(text: str) -> int:
    """How many letters and digits a text has."""
    return sum(map(str.isalnum, text))


def _goes_on(row: Line, page: RawPage, aside: Iterable[Line]) -> bool:
    """Whether a line is part of a paragraph: the next or the one before, other than those set aside, follows it closely."""
    known = {id(piece) for line in aside for piece in line.pieces}
    others = [piece for piece in page.pieces if id(piece) not in known]
    gaps = (after.x0 - before.x1 for before, after in pairwise(row.pieces))
    if any(gap > 1.5 * row.size for gap in gaps):
        return _is_in_a_table(row, others)
    height = row.y1 - row.y0
    return any(
        abs(piece.x0 - row.x0) < height
        and abs(piece.size - row.size) < _SAME_TYPE
        and min(abs(piece.y0 - row.y1), abs(row.y0 - piece.y1)) < height * _CLOSE
        for piece in others
    )


def _is_in_a_table(row: Line, others: Iterable[Piece]) -> bool:
    """Whether two pieces of a line, or more, begin right above or below others, as the cells of a table do."""
    near = [piece for piece in others if abs(piece.y0 - row.y0) < _ROWS_APART * row.size]
    aligned = (any(abs(piece.x0 - cell.x0) < row.size / 4 for piece in near) for cell in row.pieces)
    return sum(aligned) > 1


def without_numbers(text: str) -> str:
    """A text as it is compared where its numbers do not matter."""
    return _words(_NUMBERS.sub("#", text.casefold()))


def is_title(compared: str, type_size: float, body: float) -> bool:
    """Whether a line that recurs is the title of its page: in larger type than the text, without a number that counts."""
    return type_size >= _LARGER * body and _OFFSET.search(compared) is None


def margin_rows(group: Turned) -> list[Line]:
    """The lines of turned text that run along the left or right margin of their page."""
    if group.angle not in (90, 270):
        return []
    edge = _MARGIN * group.height
    return [row for row in layout.lines(group.pieces) if row.y1 < edge or row.y0 > group.height - edge]


def tells(text: str) -> bool:
    """Whether part of a line says enough to be known again: "Annual Report" or "Cat. No. 28171E", but not a date."""
    return size(text) >= 8 and sum(any(map(str.isalpha, word)) for word in text.split()) > 1


def edge_rows(page: RawPage) -> list[Line]:
    """The first and last lines of a page, where headers and footers stand."""
    above, below = edges(page)
    return above + below


def edges(page: RawPage) -> tuple[list[Line], list[Line]]:
    """The first lines of a page, and its last, from top to bottom."""
    top = [piece for piece in page.pieces if piece.y1 < page.height * _TOP]
    bottom = [piece for piece in page.pieces if piece.y0 > page.height * _BOTTOM]
    return layout.lines(top)[:_BAND_ROWS], layout.lines(bottom)[-_BAND_ROWS:]
