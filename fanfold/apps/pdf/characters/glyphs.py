"""Reads the characters of a page from pdfium: to check the layout engine, and to replace its text where it lost some.

The layout engine drops one of two overlapping pieces, such as an accent and its letter, and pieces without a height, such
as text in a font that is neither in the file nor on the machine. pdfium's own text has them.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fanfold.apps.pdf.characters import surrogates, vertical
from fanfold.apps.pdf.characters.glyph_runs import Glyph, runs, spaced
from fanfold.apps.pdf.characters.repairs import repair
from fanfold.apps.pdf.characters.type_spans import TypeSpans
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage, style
from fanfold.apps.pdf.reading import angles as turning
from fanfold.apps.pdf.reading.angles import Angled
from fanfold.apps.pdf.reading.kept_text import letters, share_kept

if TYPE_CHECKING:
    import pypdfium2 as pdfium

_FONT_NAME_BYTES = 128
# A page of which the layout engine found fewer letters is read again, and not repaired.
_ENOUGH = 0.9
# This many lost digits are a page number, which can be added.
_FEW_DIGITS = 4
# pdfium returns device positions in whole pixels; this many per point.
_PIXELS = 100
_FAR = 10_000
# In multiples of the type size: the same character this close is drawn twice, to look bold.
_SAME_PLACE = 0.1


class OwnText:
    """A page's text according to pdfium."""

    def __init__(self, document: Any, page: Any, textpage: Any) -> None:
        self.document = document
        self.page = page
        self.textpage = textpage
        self.width, self.height = page.get_size()

    @cached_property
    def text(self) -> str:
        """All text in file order."""
        found: str = self.textpage.get_text_range()
        return found

    @cached_property
    def units(self) -> str:
        """The same text as UTF-16 code units, which is how pdfium counts characters."""
        return surrogates.split(self.text)

    @cached_property
    def letters(self) -> Counter[str]:
        """Its letters and digits."""
        return letters(self.text)

    @cached_property
    def type_spans(self) -> TypeSpans:
        """How the characters are set."""
        return TypeSpans(self.document, self.page, self.textpage, self.units)

    @cached_property
    def glyphs(self) -> list[Glyph]:
        """The visible characters: those on the page, each once."""
        found: list[Glyph] = []
        seen: set[tuple[str, int, int, int]] = set()
        before: Glyph | None = None
        is_twice = False
        for index in range(self.textpage.count_chars()):
            glyph = self.glyph(index)
            if glyph is None or not (-1 <= glyph.x <= self.width + 1 and -1 <= glyph.y <= self.height + 1):
                continue
            # Characters of one glyph, such as the "ff" ligature, share a position, so they are kept or dropped together.
            if before is None or (glyph.x, glyph.y, glyph.text) != (before.x, before.y, before.text):
                is_twice = bool(glyph.text.strip()) and _is_drawn_twice(glyph, seen)
            before = glyph
            if not is_twice:
                found.append(glyph)
        return found

    @property
    def visible(self) -> str:
        """The text of the visible characters."""
        return "".join(glyph.text for glyph in self.glyphs)

    def pieces(self) -> list[Angled]:
        """The page as pieces, each with its angle."""
        return [self._piece(run) for run in runs(self.glyphs) if any(glyph.text.strip() for glyph in run)]

    def glyph(self, index: int) -> Glyph | None:
        """A character with its place; None if it has none."""
        import pypdfium2.raw as raw

        code = raw.FPDFText_GetUnicode(self.textpage, index)
        x, y = ctypes.c_double(), ctypes.c_double()
        matrix = raw.FS_MATRIX()
        if code == 0 or not raw.FPDFText_GetCharOrigin(self.textpage, index, x, y):
            return None
        if surrogates.is_second(code):
            return None
        second = raw.FPDFText_GetUnicode(self.textpage, index + 1) if surrogates.is_first(code) else 0
        text = "-" if code in (2, 0xFFFE) else surrogates.character(code, second)
        raw.FPDFText_GetMatrix(self.textpage, index, matrix)
        start, end = self._shown(x.value, y.value), self._shown(x.value + matrix.a, y.value + matrix.b)
        angle = math.degrees(math.atan2(end[1] - start[1], end[0] - start[0])) if start != end else 0.0
        scale = math.hypot(matrix.c, matrix.d) or 1.0
        size = raw.FPDFText_GetFontSize(self.textpage, index) * scale or 1.0
        return Glyph(text, *start, self._box(index, start, size), size, angle, index)

    def edges(self, index: int) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of a character on the displayed page."""
        import pypdfium2.raw as raw

        box = raw.FS_RECTF()
        if not raw.FPDFText_GetLooseCharBox(self.textpage, index, box):
            return (0.0, 0.0, 0.0, 0.0)
        one, other = self._shown(box.left, box.top), self._shown(box.right, box.bottom)
        return min(one[0], other[0]), min(one[1], other[1]), max(one[0], other[0]), max(one[1], other[1])

    def text_within(self, box: tuple[float, float, float, float]) -> str:
        """The text in a box of the displayed page, in the order in which it is read."""
        import pypdfium2.raw as raw

        size = (round(self.width * _PIXELS), round(self.height * _PIXELS))
        corners = []
        for across, down in ((box[0], box[1]), (box[2], box[3])):
            x, y = ctypes.c_double(), ctypes.c_double()
            raw.FPDF_DeviceToPage(self.page, 0, 0, *size, 0, round(across * _PIXELS), round(down * _PIXELS), x, y)
            corners.append((x.value, y.value))
        (left, right), (bottom, top) = (sorted(values) for values in zip(*corners, strict=True))
        found: str = self.textpage.get_text_bounded(left, bottom, right, top)
        return found

    def _box(self, index: int, start: tuple[float, float], size: float) -> tuple[float, float, float, float]:
        import pypdfium2.raw as raw

        box = raw.FS_RECTF()
        if not raw.FPDFText_GetLooseCharBox(self.textpage, index, box):
            return (*start, *start)
        one, other = self._shown(box.left, box.top), self._shown(box.right, box.bottom)
        left, right = sorted((one[0], other[0]))
        top, bottom = sorted((one[1], other[1]))
        if bottom - top < size / 4 and right - left < size / 4:
            # There is no font to measure with, so use a square on the baseline.
            return (start[0], start[1] - size, start[0] + size, start[1])
        return (left, top, right, bottom)

    @cached_property
    def _turn(self) -> tuple[float, ...]:
        """How positions on the page become positions on the displayed page, after rotation and cropping: asked once."""
        import pypdfium2.raw as raw

        size = (round(self.width * _PIXELS), round(self.height * _PIXELS))
        corners = []
        for x, y in ((0, 0), (_FAR, 0), (0, _FAR)):
            left, top = ctypes.c_int(), ctypes.c_int()
            raw.FPDF_PageToDevice(self.page, 0, 0, *size, 0, x, y, left, top)
            corners.append((left.value / _PIXELS, top.value / _PIXELS))
        (x0, y0), (x1, y1), (x2, y2) = corners
        return x0, y0, (x1 - x0) / _FAR, (y1 - y0) / _FAR, (x2 - x0) / _FAR, (y2 - y0) / _FAR

    def _shown(self, x: float, y: float) -> tuple[float, float]:
        """A position on the displayed page, from the top left."""
        left, top, right, down, up_right, up = self._turn
        return left + x * right + y * up_right, top + x * down + y * up

    def shown_box(self, bounds: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
        """Left, top, right and bottom on the displayed page for left, bottom, right and top on the page."""
        one, other = self._shown(bounds[0], bounds[1]), self._shown(bounds[2], bounds[3])
        return min(one[0], other[0]), min(one[1], other[1]), max(one[0], other[0]), max(one[1], other[1])

    def _piece(self, run: list[Glyph]) -> Angled:
        import pypdfium2.raw as raw

        first = next(glyph for glyph in run if glyph.text.strip())
        name = ctypes.create_string_buffer(_FONT_NAME_BYTES)
        raw.FPDFText_GetFontInfo(self.textpage, first.index, name, _FONT_NAME_BYTES, ctypes.c_int())
        bold, mono, _ = style(name.value.decode("utf-8", "replace"))
        boxes = [glyph.box for glyph in run if glyph.text.strip()]
        x0, y0 = min(box[0] for box in boxes), min(box[1] for box in boxes)
        x1, y1 = max(box[2] for box in boxes), max(box[3] for box in boxes)
        return Piece(spaced(run), x0, y0, x1, y1, first.size, bold, mono), first.angle


@contextmanager
def own_text(document: pdfium.PdfDocument, number: int) -> Iterator[OwnText | None]:
    """A page's text according to pdfium; None if pdfium cannot load the page."""
    import pypdfium2 as pdfium

    try:
        page = document[number - 1]
    except pdfium.PdfiumError:
        yield None
        return
    try:
        textpage = page.get_textpage()
    except pdfium.PdfiumError:
        page.close()
        yield None
        return
    try:
        yield OwnText(document, page, textpage)
    finally:
        textpage.close()
        page.close()


def whole(read: RawPage | None, own: OwnText | None, number: int) -> RawPage | None:
    """The page as the layout engine read it, with what it lost or, if that is much, as pdfium reads it."""
    if own is None:
        return read
    if read is not None and (turned := vertical.page(read, own)) is not None:
        return turned
    if read is not None and not own.letters - letters(read.text):
        return read
    if read is not None:
        # Text drawn twice or outside the page was not lost.
        visible = letters(own.visible)
        if not visible - letters(read.text):
            return read
        if _has_most(read, visible) and repair(read, own.pieces()) and not visible - letters(read.text):
            return read
    page = RawPage(number, own.width, own.height)
    turning.place(page, own.pieces())
    if read is not None:
        page.tables, page.rules, page.filled_in = read.tables, read.rules, read.filled_in
        page.pieces.extend(read.filled_in)
    return page


def _has_most(read: RawPage, wanted: Counter[str]) -> bool:
    """Whether a page has nearly all of these letters, and of their digits as well.

    With a Chinese font of the machine, the layout engine confuses digits of text whose font is not in the file.
    """
    digits = Counter({letter: count for letter, count in wanted.items() if letter.isdigit()})
    few = (digits - letters(read.text)).total() <= _FEW_DIGITS
    return share_kept(wanted, [read.text]) >= _ENOUGH and (few or share_kept(digits, [read.text]) >= _ENOUGH)


def _is_drawn_twice(glyph: Glyph, seen: set[tuple[str, int, int, int]]) -> bool:
    """Whether the same character was already drawn at this position in this size; records it if not.

    Positions are counted in cells that depend on the size, so they compare only within one size.
    """
    size = max(round(glyph.size), 1)
    cell = _SAME_PLACE * size
    column, row = math.floor(glyph.x / cell), math.floor(glyph.y / cell)
    near = itertools.product((column - 1, column, column + 1), (row - 1, row, row + 1))
    if any((glyph.text, size, *place) in seen for place in near):
        return True
    seen.add((glyph.text, size, column, row))
    return False
