"""Removes what belongs to the page and not to the text: running headers and footers, page numbers, margin stamps.

A line is removed only on evidence: it recurs on several pages at the same place, at the edge, beside other text, and is
not part of a paragraph or table. `running_survey` collects the evidence, `page_numbers` that for numbers.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

from fanfold.apps.pdf.markdown import layout, line_numbers
from fanfold.apps.pdf.markdown.layout import Line
from fanfold.apps.pdf.markdown.page_numbers import PageNumbers
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage, Turned

# Running headers and footers are within these shares of the page height, at the same height on all pages.
_TOP, _BOTTOM = 0.14, 0.87
_BAND_ROWS = 4
SAME_HEIGHT = 6.0
# Largest share of a page that section titles in running lines may take; losing more would be noticed.
_MOST_UNPROVEN = 0.02
# If less than this share of the letters and digits would be left, the running lines are the page's text.
_LEAST_LEFT = 0.2
# Type this much larger than the body is a title.
_LARGER = 1.12
# Stamps are within this share of the width at either side.
_MARGIN = 0.1
# A line this close to another of its type is text.
_CLOSE = 0.6
_SAME_TYPE = 0.3
# Maximum distance between rows of a table, in multiples of the type size.
_ROWS_APART = 2.5

_INTEGER = re.compile(r"(?<![\d.])\d{1,5}(?![\d.])")
_OFFSET = re.compile(r"@(-?\d+)")
# Letters and digits of a line that is known by its words, whatever its numbers are.
_LONG = 40
_NO_WORD = re.compile(r"[^\w#@-]+")
_NUMBERS = re.compile(r"\d+(?:\W*\d+)*")


def signatures(text: str, page: int, offsets: Collection[int] | None = None) -> list[str]:
    """The part of a header that stays the same from page to page: all of it, or all but a number that counts the pages.

    A number counts the pages if it is always the page number plus the same offset. Tries ``offsets``, or all possible ones.
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
    """A text with these numbers replaced by an offset."""
    for match in reversed(numbers):
        text = f"{text[: match.start()]}@{offset}{text[match.end() :]}"
    return text


def _words(text: str) -> str:
    return _NO_WORD.sub(" ", text).strip()


class Places:
    """Recurring lines, normalised for comparison, each with its heights."""

    def __init__(self, found: Iterable[Sequence[Any]]) -> None:
        self._heights: dict[str, list[float]] = defaultdict(list)
        for text, height in found:
            self._heights[text].append(height)
        self._offsets = {int(offset) for text in self._heights for offset in _OFFSET.findall(text)}
        self._numberless: dict[str, list[float]] = defaultdict(list)
        for text, heights in self._heights.items():
            self._numberless[without_numbers(_OFFSET.sub("0", text))].extend(heights)

    def know(self, text: str, height: float, page: int) -> bool:
        """Whether other pages have the same text at this height, ignoring a number that counts the pages."""
        if self.hold(signatures(text, page, self._offsets), height):
            return True
        # A long line that differs in its numbers alone is the same line: a job number, a date of printing.
        if size(text) < _LONG:
            return False
        return any(abs(known - height) < SAME_HEIGHT for known in self._numberless.get(without_numbers(text), ()))

    def hold(self, texts: Iterable[str], height: float) -> bool:
        """Whether one of these normalised texts recurs at this height."""
        return any(abs(known - height) < SAME_HEIGHT for text in texts for known in self._heights.get(text, ()))


class Running:
    """The headers and footers of one document, from its survey."""

    def __init__(self, survey: dict[str, Any]) -> None:
        self._proven = Places(survey.get("running", ()))
        # Surveys made by an older version have no evidence.
        self._recurring = Places(survey.get("recurring", survey.get("running", ())))
        self._stamps = Places(survey.get("stamps", ()))
        self._numbers = PageNumbers(survey.get("numbers", {}))
        self._edges: tuple[list[Piece], tuple[list[Line], list[Line]]] | None = None
        """The pieces of the last page, and its first and last lines."""

    def drop(self, page: RawPage, body: float) -> list[str]:
        """Remove numbers of lines, running headers, footers, page numbers and stamps from a page; return their text.

        A page that would be left almost empty keeps its running lines, because they are its text.
        """
        numbers = [piece.text for piece in line_numbers.take(page)]
        proven, unproven = self._headers(page, body)
        for row in self._stamped(page):
            (proven if self._stamps.know(row.text, row.y0, page.number) else unproven).extend(row.pieces)
        if sum(size(piece.text) for piece in unproven) > _MOST_UNPROVEN * size(page.text):
            unproven = []
        gone = {id(piece) for piece in proven + unproven}
        if not _leaves_enough(page, gone):
            return numbers
        page.pieces = [piece for piece in page.pieces if id(piece) not in gone]
        for group in page.turned:
            group.pieces = [piece for piece in group.pieces if id(piece) not in gone]
        page.turned = [group for group in page.turned if group.pieces]
        return [*numbers, *(piece.text for piece in proven + unproven)]

    def beside(self, page: RawPage, body: float) -> list[Piece]:
        """Pieces that do not recur at the edges of other pages; none on a scan with a stamp."""
        recurring = {id(piece) for row in self._rows(page, body, self._recurring) for piece in row.pieces}
        return [piece for piece in page.pieces if id(piece) not in recurring]

    def _rows(self, page: RawPage, body: float, places: Places) -> list[Line]:
        if self._edges is None or self._edges[0] is not page.pieces:
            self._edges = page.pieces, edges(page)
        above, below = self._edges[1]
        return [*self._running_rows(above, page, body, places), *self._running_rows(below[::-1], page, body, places)]

    def _running_rows(self, rows: list[Line], page: RawPage, body: float, places: Places) -> list[Line]:
        """Rows, ordered from the page edge inwards, that are headers or footers and not the page's own text.

        Recurring text is not a header if other text is between it and the edge, or if it is part of a paragraph.
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
        """Header and footer pieces that are known or count the pages, and the rest of their lines.

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
        """Lines of a page that are stamps, ignoring their numbers."""
        rows = [row for group in page.turned for row in margin_rows(group)]
        return [row for row in rows if self._stamps.hold([without_numbers(row.text)], row.y0)]


def _repeats(row: Line, page: RawPage, places: Places) -> bool:
    """Whether all or most of a line is known from other pages."""
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
    """Number of letters and digits in a text."""
    return sum(map(str.isalnum, text))


def _goes_on(row: Line, page: RawPage, aside: Iterable[Line]) -> bool:
    """Whether a line is part of a paragraph: another line, not in ``aside``, is close above or below."""
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
    """Whether two or more pieces of a line are aligned with pieces above or below, like cells of a table."""
    near = [piece for piece in others if abs(piece.y0 - row.y0) < _ROWS_APART * row.size]
    aligned = (any(abs(piece.x0 - cell.x0) < row.size / 4 for piece in near) for cell in row.pieces)
    return sum(aligned) > 1


def without_numbers(text: str) -> str:
    """A text normalised for comparison without its numbers."""
    return _words(_NUMBERS.sub("#", text.casefold()))


def is_title(compared: str, type_size: float, body: float) -> bool:
    """Whether a recurring line is a page title: in larger type than the text and without a counting number."""
    return type_size >= _LARGER * body and _OFFSET.search(compared) is None


def margin_rows(group: Turned) -> list[Line]:
    """Lines of rotated text along the left or right margin."""
    if group.angle not in (90, 270):
        return []
    edge = _MARGIN * group.height
    return [row for row in layout.lines(group.pieces) if row.y1 < edge or row.y0 > group.height - edge]


def tells(text: str) -> bool:
    """Whether part of a line is distinctive enough to recognise: "Annual Report" or "Cat. No. 28171E", but not a date."""
    return size(text) >= 8 and sum(any(map(str.isalpha, word)) for word in text.split()) > 1


def edge_rows(page: RawPage) -> list[Line]:
    """The first and last lines of a page, where headers and footers are."""
    above, below = edges(page)
    return above + below


def edges(page: RawPage) -> tuple[list[Line], list[Line]]:
    """The first and the last lines of a page, from top to bottom."""
    top = [piece for piece in page.pieces if piece.y1 < page.height * _TOP]
    bottom = [piece for piece in page.pieces if piece.y0 > page.height * _BOTTOM]
    return layout.lines(top)[:_BAND_ROWS], layout.lines(bottom)[-_BAND_ROWS:]
