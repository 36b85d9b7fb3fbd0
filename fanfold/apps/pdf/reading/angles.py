"""Turns slanted, skewed and rotated pieces of text upright, so that no text is lost because of its angle.

Synthetic italics are sheared: their line is level, whatever angle is reported for them. A skewed scan is rotated back as a
whole. Text at another angle than the rest of its page (an axis label, a stamp in the margin) is laid out separately.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from fanfold.apps.pdf.markdown.pieces import Piece, RawPage, Turned

# Pieces within this many degrees of the main direction are read with the main text.
_TOGETHER = 10.0
# Lines below this angle are level.
_LEVEL = 0.3
# Italics are not sheared more than this.
_STEEPEST_SHEAR = 25.0
# Height of a line's box, in multiples of the type size.
_LINE = 1.15

Angled = tuple[Piece, float]
"""A piece as it is on the page, and its clockwise rotation in degrees."""


def place(page: RawPage, angled: Sequence[Angled]) -> float:
    """Add pieces to a page: those in the main direction levelled, those in other directions as separate groups.

    Returns the angle of the main direction, by which the page was turned back.
    """
    found = [(piece, _true_angle(piece, angle)) for piece, angle in angled]
    if not any(angle for _, angle in found):
        page.pieces.extend(piece for piece, _ in found)
        return 0.0
    main = _main(found)
    others: dict[int, list[Piece]] = {}
    for piece, angle in found:
        if abs(_difference(angle, main)) <= _TOGETHER:
            page.pieces.append(_level(piece, angle, main, page))
        else:
            others.setdefault(round(angle) % 360, []).append(_level(piece, angle, angle, page))
    for angle, pieces in others.items():
        page.turned.append(Turned(angle, pieces, page.width if angle in (90, 270) else page.height))
    return main


def displayed(
    box: tuple[float, float, float, float], angle: int, width: float, height: float
) -> tuple[float, float, float, float]:
    """The box on the displayed page for a box on the page after it was turned upright.

    ``angle`` is the clockwise rotation of the text on the displayed page, ``width`` and ``height`` are those of that page.
    """
    left, top, right, bottom = box
    if angle == 90:
        return width - bottom, left, width - top, right
    if angle == 180:
        return width - right, height - bottom, width - left, height - top
    if angle == 270:
        return top, height - right, bottom, height - left
    return box


def _true_angle(piece: Piece, angle: float) -> float:
    """Angle of a piece's baseline: 0 for type that is only slanted."""
    angle = _difference(angle, 0.0)
    if abs(angle) <= _LEVEL:
        return 0.0
    if abs(angle) > _STEEPEST_SHEAR:
        return angle
    # The box of a line that really rises or falls is taller by that amount.
    height, line = piece.y1 - piece.y0, _LINE * piece.size
    rise = (piece.x1 - piece.x0) * abs(math.sin(math.radians(angle)))
    return 0.0 if height < line + rise / 2 else angle


def _difference(angle: float, other: float) -> float:
    """Signed difference between two angles, from -180 to 180."""
    return (angle - other + 180.0) % 360.0 - 180.0


def _main(found: Sequence[Angled]) -> float:
    """Direction of most of the text: the mean around the most frequent angle."""
    letters: Counter[int] = Counter()
    for piece, angle in found:
        letters[round(angle)] += len(piece.text)
    usual = max(letters, key=lambda angle: (letters[angle], angle == 0))
    near = [(piece, angle) for piece, angle in found if abs(_difference(angle, usual)) <= _TOGETHER / 2]
    weight = sum(len(piece.text) for piece, _ in near) or 1
    mean = usual + sum(_difference(angle, usual) * len(piece.text) for piece, angle in near) / weight
    return mean if abs(mean) > _LEVEL else 0.0


def _level(piece: Piece, angle: float, turn: float, page: RawPage) -> Piece:
    """The piece after rotating the page back by ``turn`` degrees around its centre."""
    if not angle and not turn:
        return piece
    piece.shown = (piece.x0, piece.y0, piece.x1, piece.y1)
    length, line = _length(piece, angle)
    radians = math.radians(turn)
    across, down = (piece.x0 + piece.x1 - page.width) / 2, (piece.y0 + piece.y1 - page.height) / 2
    width, height = page.width, page.height
    if 45 < abs(_difference(turn, 0.0)) < 135:
        width, height = height, width
    x = width / 2 + across * math.cos(radians) + down * math.sin(radians)
    y = height / 2 - across * math.sin(radians) + down * math.cos(radians)
    piece.x0, piece.x1 = x - length / 2, x + length / 2
    piece.y0, piece.y1 = y - line / 2, y + line / 2
    return piece


def _length(piece: Piece, angle: float) -> tuple[float, float]:
    """Length and height of a piece along its own line, from its box on the page."""
    width, height, line = piece.x1 - piece.x0, piece.y1 - piece.y0, _LINE * piece.size
    cosine, sine = abs(math.cos(math.radians(angle))), abs(math.sin(math.radians(angle)))
    length = (width - line * sine) / cosine if cosine > sine else (height - line * cosine) / sine
    return max(length, piece.size / 4), line
