"""Reads bullets that are drawn as small circles and squares instead of characters, as browsers do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fanfold.apps.pdf.markdown.pieces import Piece
from fanfold.apps.pdf.reading.drawn_rules import MOST, WHITE

# In multiples of the type size: diameter of a bullet, distance from its text, and from the middle of the line.
_SIZES = (0.12, 0.8)
_APART = (0.1, 3.5)
_OFF_MIDDLE = 0.4
# How much width and height may differ.
_SQUARE = 1.3


def bullets(shapes: Sequence[Any], pieces: Sequence[Piece]) -> list[Piece]:
    """The drawn bullets of a page, as pieces on the lines of their text."""
    if len(shapes) > MOST:
        return []
    found: list[Piece] = []
    for shape in _round(shapes):
        box = shape.bbox
        text = _text_behind(box, pieces)
        if text is None or any(abs(box.x - other.x0) < 1 and other.y0 == text.y0 for other in found):
            continue
        sign = "•" if shape.has_curve and shape.fill else "◦" if shape.has_curve else "▪"
        found.append(Piece(sign, box.x, text.y0, box.x + box.width, text.y1, text.size, False, False, face=text.face))
    return found


def _round(shapes: Sequence[Any]) -> Iterator[Any]:
    """Shapes that are about as high as wide, and not white."""
    for shape in shapes:
        width, height = shape.bbox.width, shape.bbox.height
        if 1 < width < _SQUARE * height and height < _SQUARE * width and width < 12:
            colour = shape.fill_color if shape.fill else shape.stroke_color
            if colour not in WHITE:
                yield shape


def _text_behind(box: Any, pieces: Sequence[Piece]) -> Piece | None:
    """The first piece of the line that a shape stands before; None if it stands elsewhere."""
    middle = box.y + box.height / 2
    right = box.x + box.width
    level = [piece for piece in pieces if piece.y0 < middle < piece.y1]
    behind = min((piece for piece in level if piece.x0 > box.x), key=lambda piece: piece.x0, default=None)
    if behind is None or not _APART[0] * behind.size < behind.x0 - right < _APART[1] * behind.size:
        return None
    if not _SIZES[0] * behind.size < box.width < _SIZES[1] * behind.size or not any(map(str.isalnum, behind.text)):
        return None
    if abs(middle - (behind.y0 + behind.y1) / 2) > _OFF_MIDDLE * behind.size:
        return None
    # In the middle of a line it is a sign or part of a drawing.
    is_first = not any(0 < box.x - piece.x1 < 2 * behind.size or piece.x0 < box.x < piece.x1 for piece in level)
    return behind if is_first else None
