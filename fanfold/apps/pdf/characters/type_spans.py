"""Finds how each character of a page is set: bold, italic, monospaced, raised, lowered, or part of a link.

A font belongs to a text object of the page, so pdfium is asked once per object and not once per character.
"""

from __future__ import annotations

import bisect
import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fanfold.apps.pdf.markdown.pieces import BOLD, ITALIC, LINK, MONO, SUB, SUP, style

_FONT_NAME_BYTES = 128
_FORCED_BOLD, _ITALIC_FLAG, _FIXED_FLAG = 1 << 18, 1 << 6, 1
_BOLD_WEIGHT = 600
# pdfium derives the weight from the width of the stems, which is wide of the mark for monospaced fonts and others.
_PLAIN = re.compile(r"regular|roman|light|book|normal|-rg|text$|mono|italic$|oblique$", re.IGNORECASE)
# A superscript or subscript has at most this many characters, is this much smaller than the text beside it, and this much
# of its type size above or below the baseline.
_LONGEST_SCRIPT = 8
_SMALLER = 0.88
_RAISED = 0.18
_LOWERED = 0.06
# In multiples of the type size: the distance between the last character of an object and the next object on the line.
_NEAR = 1.3
_MOST_LINKS = 500
_MOST_MEASURED = 1500


@dataclass(slots=True)
class _Span:
    start: int
    end: int
    flags: int
    measured: tuple[float, float, float] | None = None


class TypeSpans:
    """The settings of a page's characters, by their index in pdfium's text."""

    def __init__(self, document: Any, page: Any, textpage: Any, text: str) -> None:
        self._textpage = textpage
        self._text = text
        self.fonts: set[str] = set()
        """The names of the fonts, with the mark of a subset."""
        self._spans = list(_objects(textpage, text, self.fonts))
        self._mark_scripts()
        self._starts = [span.start for span in self._spans]
        self.links = _links(document, page, textpage)

    def flags(self, start: int, end: int) -> list[int]:
        """The settings of a stretch of characters, one number each."""
        found: list[int] = []
        at = max(bisect.bisect_right(self._starts, start) - 1, 0)
        for span in self._spans[at:]:
            if span.start >= end:
                break
            found.extend([span.flags] * (min(span.end, end) - max(span.start, start)))
        found.extend([0] * (end - start - len(found)))
        for number, (first, last, _) in enumerate(self.links):
            for index in range(max(first, start), min(last + 1, end)):
                found[index - start] |= LINK * (number + 1)
        return found

    def size(self, index: int) -> float:
        """Type size at a character; 0 if it is turned."""
        return self._measure(self._spans[max(bisect.bisect_right(self._starts, index) - 1, 0)])[2]

    def _mark_scripts(self) -> None:
        """Mark short objects in small type that are above or below the baseline of their neighbours."""
        short = [at for at, span in enumerate(self._spans) if 0 < len(self._inked(span)) <= _LONGEST_SCRIPT]
        for at in short[:_MOST_MEASURED]:
            span = self._spans[at]
            for other in self._beside(at):
                raised = self._raised(span, other)
                if raised:
                    span.flags |= raised
                    break

    def _inked(self, span: _Span) -> str:
        return self._text[span.start : span.end].strip()

    def _beside(self, at: int) -> Iterator[_Span]:
        """The objects before and after, if they are on the same line."""
        span = self._spans[at]
        if at and self._is_near(self._spans[at - 1], span):
            yield self._spans[at - 1]
        if at + 1 < len(self._spans) and self._is_near(span, self._spans[at + 1]):
            yield self._spans[at + 1]

    def _is_near(self, before: _Span, after: _Span) -> bool:
        """Whether no line ends between two objects. pdfium also ends a line before and after some raised characters."""
        if not set("\r\n") & set(self._text[before.end - 1 : after.start + 1]):
            return True
        if not self._inked(before) or not self._inked(after):
            return False
        last = before.start + len(self._text[before.start : before.end].rstrip()) - 1
        (x, y), (next_x, next_y, size) = self._origin(last), self._measure(after)
        usual = max(size, self._measure(before)[2])
        return 0 < next_x - x < _NEAR * usual and abs(next_y - y) < 0.7 * usual

    def _origin(self, index: int) -> tuple[float, float]:
        import pypdfium2.raw as raw

        x, y = ctypes.c_double(), ctypes.c_double()
        raw.FPDFText_GetCharOrigin(self._textpage, index, x, y)
        return x.value, y.value

    def _raised(self, span: _Span, other: _Span) -> int:
        if other.flags & (SUP | SUB) or not self._inked(other):
            return 0
        (_, y, size), (_, base, usual) = self._measure(span), self._measure(other)
        if not usual or size > _SMALLER * usual or abs(y - base) > 0.9 * usual:
            return 0
        if y - base > _RAISED * usual:
            return SUP
        return SUB if y - base < -_LOWERED * usual else 0

    def _measure(self, span: _Span) -> tuple[float, float, float]:
        """Position on the baseline and type size of the first inked character."""
        if span.measured is None:
            import pypdfium2.raw as raw

            index = (
                span.start + len(self._text[span.start : span.end]) - len(self._text[span.start : span.end].lstrip())
            )
            x, y, matrix = ctypes.c_double(), ctypes.c_double(), raw.FS_MATRIX()
            raw.FPDFText_GetCharOrigin(self._textpage, index, x, y)
            raw.FPDFText_GetMatrix(self._textpage, index, matrix)
            upright = abs(matrix.b) < 0.01 * abs(matrix.a)
            size = raw.FPDFText_GetFontSize(self._textpage, index) * abs(matrix.d) if upright else 0.0
            span.measured = (x.value, y.value, size)
        return span.measured


def _objects(textpage: Any, text: str, names: set[str]) -> Iterator[_Span]:
    """The text objects in file order, cut at line ends, with the settings of their fonts."""
    import pypdfium2.raw as raw

    object_at, address, fonts = raw.FPDFText_GetTextObject, ctypes.addressof, dict[int, int]()

    def is_other(index: int) -> bool:
        found = object_at(textpage, index)
        while not found and index > start:
            # Spaces that pdfium adds belong to no object, so they go with the one before.
            index -= 1
            found = object_at(textpage, index)
        return bool(found) and address(found.contents) != key

    start, count = 0, len(text)
    while start < count:
        first = object_at(textpage, start)
        key = address(first.contents) if first else 0
        line_end = text.find("\n", start) + 1 or count
        inked_end = start + len(text[start:line_end].rstrip())
        if inked_end - start < 2 or not is_other(inked_end - 1):
            end = line_end
        else:
            end = start + 1 + bisect.bisect_left(range(start + 1, inked_end - 1), True, key=is_other)
        yield _Span(start, end, _flags(first, fonts, names) if key else 0)
        start = end


def _flags(found: Any, known: dict[int, int], names: set[str]) -> int:
    """Settings of the font of a text object."""
    import pypdfium2.raw as raw

    font = raw.FPDFTextObj_GetFont(found)
    if not font:
        return 0
    key = ctypes.addressof(font.contents)
    if key not in known:
        known[key] = _settings(font, names)
    return known[key]


def _settings(font: Any, names: set[str]) -> int:
    import pypdfium2.raw as raw

    name = ctypes.create_string_buffer(_FONT_NAME_BYTES)
    raw.FPDFFont_GetBaseFontName(font, name, _FONT_NAME_BYTES)
    known = name.value.decode("utf-8", "replace")
    names.add(known)
    bold, mono, italic = style(known)
    flags = raw.FPDFFont_GetFlags(font)
    if not _PLAIN.search(known) and raw.FPDFFont_GetIsEmbedded(font) == 1:
        bold = bold or raw.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT
    found = BOLD if bold or (flags > 0 and flags & _FORCED_BOLD) else 0
    found |= ITALIC if italic or (flags > 0 and flags & _ITALIC_FLAG) else 0
    return found | (MONO if mono or (flags > 0 and flags & _FIXED_FLAG and not name.value) else 0)


def _links(document: Any, page: Any, textpage: Any) -> list[tuple[int, int, str]]:
    """First and last character and address of each link to the web."""
    import pypdfium2.raw as raw

    found: list[tuple[int, int, str]] = []
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    while len(found) < _MOST_LINKS and raw.FPDFLink_Enumerate(page, position, link):
        address = _address(raw, document, link)
        box = raw.FS_RECTF()
        if not address or not raw.FPDFLink_GetAnnotRect(link, box):
            continue
        middle, tall = (box.top + box.bottom) / 2, abs(box.top - box.bottom) / 2
        first = raw.FPDFText_GetCharIndexAtPos(textpage, box.left + 1, middle, 4, tall)
        last = raw.FPDFText_GetCharIndexAtPos(textpage, box.right - 1, middle, 4, tall)
        if 0 <= first <= last:
            found.append((first, last, address))
    return found


def _address(raw: Any, document: Any, link: Any) -> str:
    action = raw.FPDFLink_GetAction(link)
    if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
        return ""
    length = raw.FPDFAction_GetURIPath(document, action, None, 0)
    buffer = ctypes.create_string_buffer(max(length, 1))
    raw.FPDFAction_GetURIPath(document, action, buffer, length)
    address = buffer.value.decode("utf-8", "replace")
    return address if ":" in address and not any(character.isspace() for character in address) else ""
