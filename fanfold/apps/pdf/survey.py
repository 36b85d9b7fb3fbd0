"""What do the pages of a document have in common? Asked once, of a sample, so that every page is judged alike."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any

from fanfold.apps.pdf import cleaning, headings, layout, reading
from fanfold.apps.pdf.layout import Line
from fanfold.apps.pdf.reading import RawPage

if TYPE_CHECKING:
    import pypdfium2 as pdfium

SAMPLE = 64
_OUTLINE_ENTRIES = 5000
# Running headers and footers stand in these shares of the height, on at least so many pages, at the same height.
_TOP, _BOTTOM = 0.14, 0.87
_BAND_ROWS = 4
_FOOT = 0.92
_REPEATED = 3
_SAME_HEIGHT = 6.0
# A line that fills so much of the page, and has another one of its type that close to it, is text.
_FILLED = 0.6
_CLOSE = 0.6
_SAME_TYPE = 0.3
# Type this much larger than the body's is a heading; sizes closer than this are the same size.
_LARGER = 1.12
_SAME_SIZE = 0.06
_LEVELS = 5
_HEADING_LENGTH = 6

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


def outline(document: pdfium.PdfDocument) -> list[list[Any]]:
    """The document's own table of contents: title, page (from 1) and level (from 1) of each entry."""
    entries: list[list[Any]] = []
    for bookmark in document.get_toc():
        entry = _entry(bookmark)
        if entry is not None:
            entries.append(entry)
        if len(entries) == _OUTLINE_ENTRIES:
            break
    return entries


def _entry(bookmark: Any) -> list[Any] | None:
    try:
        title = cleaning.characters(bookmark.get_title() or "").strip()
        destination = bookmark.get_dest()
        index = destination.get_index() if destination is not None else None
    except (UnicodeDecodeError, RuntimeError):
        # Damaged, or made by a program that can not write them: one title less.
        return None
    return [title, index + 1, bookmark.level + 1] if title and index is not None and index >= 0 else None


def take(path: Path, document: pdfium.PdfDocument) -> dict[str, Any]:
    """Read a sample of pages, evenly spread, and note what they share. The answer can be stored as JSON."""
    pages, _problems = reading.read(path, sample(len(document)))
    entries = outline(document)
    body, ladder = _sizes(pages.values())
    return {
        "outline": entries,
        "forms": bool(document.get_formtype()),
        "body": body,
        "ladder": ladder,
        "levels": _levels(pages.values(), ladder, entries),
        "running": _running(pages.values()),
    }


def sample(total: int) -> list[int]:
    """At most SAMPLE page numbers, evenly spread."""
    if total <= SAMPLE:
        return list(range(1, total + 1))
    return sorted({1 + index * (total - 1) // (SAMPLE - 1) for index in range(SAMPLE)})


def _sizes(pages: Iterable[RawPage]) -> tuple[float, list[float]]:
    """The size most characters have, and the larger sizes headings use, largest first."""
    characters: Counter[float] = Counter()
    for page in pages:
        for piece in page.pieces:
            characters[round(piece.size * 2) / 2] += len(piece.text)
    if not characters:
        return 0.0, []
    body = max(characters, key=lambda size: (characters[size], size))
    ladder: list[float] = []
    # An initial over three lines is large, but no heading.
    large = (size for size, count in characters.items() if size >= body * _LARGER and count >= _HEADING_LENGTH)
    for size in sorted(large, reverse=True):
        if not ladder or size < ladder[-1] * (1 - _SAME_SIZE):
            ladder.append(size)
    return body, ladder[:_LEVELS]


def _levels(pages: Iterable[RawPage], ladder: list[float], entries: list[list[Any]]) -> list[int]:
    """The level of each size of headings: what the outline says of titles in that size, or else one below the larger one."""
    known = headings.titles(entries)
    said: dict[int, list[int]] = defaultdict(list)
    for page in pages:
        for line in layout.lines(page.pieces) if page.number in known else ():
            level = headings.outlined_level(line.text, known[page.number])
            index = headings.rung(line.size, ladder)
            if level is not None and index is not None:
                said[index].append(level)
    levels: list[int] = []
    for index in range(len(ladder)):
        above = levels[-1] if levels else 0
        # The title of a book stands over its chapters, but is no entry of its outline: both are of the first level.
        untold = 1 if index < min(said, default=0) else above + 1
        levels.append(max(median_low(said[index]) if index in said else untold, above, 1))
    return levels


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
        self._offsets = {int(offset) for text in self._heights for offset in _OFFSET.findall(text)}

    def drop(self, page: RawPage, body: float) -> None:
        """Take running headers, footers and page numbers off a page."""
        dropped: set[int] = set()
        for row in edge_rows(page):
            repeats = self._repeats(row, page) and not _goes_on(row, page)
            if repeats or _is_page_number(row, page) or _has_page_number(row, page, body):
                dropped.update(map(id, row.pieces))
        page.pieces = [piece for piece in page.pieces if id(piece) not in dropped]

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


def _goes_on(row: Line, page: RawPage) -> bool:
    """Whether a line is part of a paragraph: it fills the page, and the next or the one before follows it closely."""
    gaps = (after.x0 - before.x1 for before, after in pairwise(row.pieces))
    if row.x1 - row.x0 < page.width * _FILLED or any(gap > 1.5 * row.size for gap in gaps):
        return False
    height = row.y1 - row.y0
    mine = set(map(id, row.pieces))
    return any(
        abs(piece.x0 - row.x0) < height
        and abs(piece.size - row.size) < _SAME_TYPE
        and min(abs(piece.y0 - row.y1), abs(row.y0 - piece.y1)) < height * _CLOSE
        for piece in page.pieces
        if id(piece) not in mine
    )


def _without_numbers(text: str) -> str:
    """At the very foot of a page any number may change, as that of a section does; higher up that would hit titles."""
    return _words(_NUMBERS.sub("#", text.casefold()))


def _running(pages: Iterable[RawPage]) -> list[list[Any]]:
    places: dict[str, list[float]] = defaultdict(list)
    for page in pages:
        for text, height in _edge_texts(page):
            found = signatures(text, page.number)
            if height > page.height * _FOOT:
                found.append(_without_numbers(text))
            for known in found:
                places[known].append(height)
    return [[text, round(height, 1)] for text, heights in sorted(places.items()) for height in _common_heights(heights)]


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
    top = [piece for piece in page.pieces if piece.y1 < page.height * _TOP]
    bottom = [piece for piece in page.pieces if piece.y0 > page.height * _BOTTOM]
    return layout.lines(top)[:_BAND_ROWS] + layout.lines(bottom)[-_BAND_ROWS:]


def _is_page_number(row: Line, page: RawPage) -> bool:
    return _PAGE_NUMBER.fullmatch(row.text) is not None and _outermost(row, page)


def _has_page_number(row: Line, page: RawPage, body: float) -> bool:
    """A line with a number standing apart at one end: the header of a document of too few pages to compare."""
    if _PAGE_OF.search(row.text):
        return _outermost(row, page, beyond=1)
    if len(row.pieces) < 2:
        return False
    apart = 0.0
    if row.pieces[0].text.isdigit():
        apart = row.pieces[1].x0 - row.pieces[0].x1
    elif row.pieces[-1].text.isdigit():
        apart = row.pieces[-1].x0 - row.pieces[-2].x1
    small = row.size < 0.95 * body
    return apart > (1.5 if small else 8) * row.size and _outermost(row, page, beyond=1)


def _outermost(row: Line, page: RawPage, beyond: int = 0) -> bool:
    """Whether nothing (or only ``beyond`` pieces) stands above a line, or nothing below it."""
    own = set(map(id, row.pieces))
    others = [piece for piece in page.pieces if id(piece) not in own]
    above = sum(piece.y1 < row.y0 + 1 for piece in others)
    below = sum(piece.y0 > row.y1 - 1 for piece in others)
    return bool(others) and (above <= beyond or below <= beyond)
