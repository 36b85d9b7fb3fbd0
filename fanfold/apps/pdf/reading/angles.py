"""Brings slanted, skewed and turned pieces of text upright, so that none is lost for its angle.

Synthetic italics are sheared: their line is level, whatever angle is reported for them. A crooked scan is turned back as a
whole. Text at another angle than the rest of its page (a label along an axis, a stamp in the margin) is laid out apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from fanfold.apps.pdf.markdown.pieces import Piece, RawPage, Turned

# Pieces within this many degrees of the main direction are read with it.
_TOGETHER = 10.0
# Below this, lines are level.
_LEVEL = 0.3
# Shears beyond this are not used for italics.
_STEEPEST_SHEAR = 25.0
# Height of a line's box, in sizes of its type.
_LINE = 1.15

Angled = tuple[Piece, float]
"""A piece as it lies on the page, and by how many degrees it is turned clockwise."""


def place(page: RawPage, angled: Sequence[Angled]) -> None:
    """Give a page its pieces: those of the main direction level, those of any other direction as groups of their own."""
    found = [(piece, _true_angle(piece, angle)) for piece, angle in angled]
    if not any(angle for _, angle in found):
        page.pieces.extend(piece for piece, _ in found)
        return
    main = _main(found)
    others: dict[int, list[Piece]] = {}
    for piece, angle in found:
        if abs(_difference(angle, main)) <= _TOGETHER:
            page.pieces.append(_level(piece, angle, main, page))
        else:
            others.setdefault(round(angle) % 360, []).append(_level(piece, angle, angle, page))
    for angle, pieces in others.items():
        page.turned.append(Turned(angle, pieces, page.width if angle in (90, 270) else page.height))


def _true_angle(piece: Piece, angle: float) -> float:
    """The angle of the line a piece stands on: 0 for type that only leans."""
    angle = _difference(angle, 0.0)
    if abs(angle) <= _LEVEL:
        return 0.0
    if abs(angle) > _STEEPEST_SHEAR:
        return angle
    # The box of a line that really goes up or down is higher by as much as it does.
    height, line = piece.y1 - piece.y0, _LINE * piece.size
    rise = (piece.x1 - piece.x0) * abs(math.sin(math.radians(angle)))
    return 0.0 if height < line + rise / 2 else angle


def _difference(angle: float, other: float) -> float:
    """How far it is from one angle to another, between -180 and 180."""
    return (angle - other + 180.0) % 360.0 - 180.0


def _main(found: Sequence[Angled]) -> float:
    """The direction of most of the text: its mean angle around the one most letters have."""
    letters: Counter[int] = Counter()
    for piece, angle in found:
        letters[round(angle)] += len(piece.text)
    usual = max(letters, key=lambda angle: (letters[angle], angle == 0))
    near = [(piece, angle) for piece, angle in found if abs(_difference(angle, usual)) <= _TOGETHER / 2]
    weight = sum(len(piece.text) for piece, _ in near) or 1
    mean = usual + sum(_difference(angle, usual) * len(piece.text) for piece, angle in near) / weight
    return mean if abs(mean) > _LEVEL else 0.0


def _level(piece: Piece, angle: float, turn: float, page: RawPage) -> Piece:
    """The piece on a page that is turned back by ``turn`` degrees around its middle."""
    if not angle and not turn:
        return piece
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
    """How long and how high a piece is along its own line, from the box around it as it lies on the page."""
    width, height, line = piece.x1 - piece.x0, piece.y1 - piece.y0, _LINE * piece.size
    cosine, sine = abs(math.cos(math.radians(angle))), abs(math.sin(math.radians(angle)))
    length = (width - line * sine) / cosine if cosine > sine else (height - line * cosine) / sine
    return max(length, piece.size / 4), line
