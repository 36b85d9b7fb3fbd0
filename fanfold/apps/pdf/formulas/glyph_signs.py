"""The characters of a page with their fonts and the edges of their ink."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from fanfold.apps.pdf.characters import surrogates
from fanfold.apps.pdf.characters.glyphs import OwnText
from fanfold.apps.pdf.formulas.math_signs import MATH_FONT, Sign, latex_of
from fanfold.apps.pdf.markdown.pieces import Piece

_FONT_NAME_BYTES = 128
_SUBSET = re.compile(r"^[A-Z]{6}\+")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A visible character: its sign if it is known, the middle of its ink, and its font."""

    sign: Sign | None
    x: float
    y: float
    text: str
    font: str


def of_mathematics(own: OwnText | None) -> Glyphs | None:
    """The characters of a page; None if it has no font of mathematics."""
    if own is None or not any(MATH_FONT.match(_SUBSET.sub("", name)) for name in own.type_spans.fonts):
        return None
    return Glyphs(own)


class Glyphs:
    """The visible characters of a page, read once."""

    def __init__(self, own: OwnText) -> None:
        self._own = own
        self._found: list[Drawn] | None = None

    @property
    def all(self) -> list[Drawn]:
        """All of them, in file order."""
        self._found = self._found if self._found is not None else list(self._read())
        return self._found

    def within(
        self, left: float, top: float, right: float, bottom: float, others: Sequence[Piece]
    ) -> list[Sign] | None:
        """The signs in an area that belong to no other line; None if one of them is not known."""
        found: list[Sign] = []
        for drawn in self.all:
            if not (left <= drawn.x <= right and top - 1 <= drawn.y <= bottom + 1):
                continue
            if any(piece.x0 <= drawn.x <= piece.x1 and piece.y0 <= drawn.y <= piece.y1 for piece in others):
                continue
            if drawn.sign is None:
                return None
            found.append(drawn.sign)
        return found

    def _read(self) -> Iterator[Drawn]:
        import pypdfium2.raw as raw

        own, name = self._own, ctypes.create_string_buffer(_FONT_NAME_BYTES)
        edges = [ctypes.c_double() for _ in range(4)]
        for index in range(own.textpage.count_chars()):
            code = raw.FPDFText_GetUnicode(own.textpage, index)
            if raw.FPDFText_IsGenerated(own.textpage, index) == 1 or surrogates.is_second(code):
                continue
            raw.FPDFText_GetFontInfo(own.textpage, index, name, _FONT_NAME_BYTES, ctypes.c_int())
            raw.FPDFText_GetCharBox(own.textpage, index, edges[0], edges[1], edges[2], edges[3])
            box = own.shown_box((edges[0].value, edges[2].value, edges[1].value, edges[3].value))
            if box[2] - box[0] < 0.05:
                continue
            glyph = own.glyph(index)
            font = _plain(name.value)
            known = latex_of(chr(code), font)
            made = None
            if known is not None and glyph is not None and abs(glyph.angle) < 1:
                made = Sign(known[0], box[0], box[2], box[1], box[3], glyph.y, glyph.size, known[1])
            elif known is not None and code == 0:
                size = raw.FPDFText_GetFontSize(own.textpage, index)
                made = Sign(known[0], box[0], box[2], box[1], box[3], box[3], size, known[1])
            text = glyph.text if glyph is not None else chr(code)
            yield Drawn(made, (box[0] + box[2]) / 2, (box[1] + box[3]) / 2, text, font)


@lru_cache(maxsize=512)
def _plain(font: bytes) -> str:
    return _SUBSET.sub("", font.decode("utf-8", "replace"))
