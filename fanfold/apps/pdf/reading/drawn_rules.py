"""Reads the straight lines of a page, which show where tables, footnotes and boxes are."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from typing import Any

from fanfold.apps.pdf.markdown.pieces import Piece, Rules

# A page with more lines is a drawing.
MOST = 4000
# In points: a shorter line is a mark; lines this close are one line; pieces of a line may be this far apart.
_SHORTEST = 3.4
_SAME = 1.2
_GAP = 3.0
WHITE = ("ffffffff", "00ffffff")
# In points: an underline is at most this far above or below the lower edge of its text, and this much shorter.
_WITHIN = 5.0
_BELOW = 2.5
_OVER = 3.0


def rules_of(lines: Sequence[Any], edges: Iterable[tuple[float, float, float]] = ()) -> Rules:
    """The level and upright lines, with their parts joined; ``edges`` are upright lines known otherwise."""
    if len(lines) > MOST:
        return Rules()
    level: list[tuple[float, float, float]] = []
    upright: list[tuple[float, float, float]] = []
    for line in lines:
        x0, y0, x1, y1 = line.x1, line.y1, line.x2, line.y2
        if (line.stroke_color if line.stroke else line.fill_color) in WHITE:
            continue
        if abs(y0 - y1) < 1 and abs(x0 - x1) >= _SHORTEST:
            level.append(((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
        elif abs(x0 - x1) < 1 and abs(y0 - y1) >= _SHORTEST:
            upright.append(((x0 + x1) / 2, min(y0, y1), max(y0, y1)))
    upright.extend(edges)
    return Rules(joined(level), joined(upright))


def joined(lines: Iterable[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """Lines at the same height that touch, as one."""
    found: list[tuple[float, float, float]] = []
    row: list[tuple[float, float, float]] = []
    for line in sorted(lines):
        if row and line[0] - row[0][0] > _SAME:
            found.extend(_row(row))
            row = []
        row.append(line)
    return found + _row(row)


def _row(lines: list[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    found: list[tuple[float, float, float]] = []
    for height, start, end in sorted(lines, key=lambda line: line[1]):
        if found and start <= found[-1][2] + _GAP:
            found[-1] = (found[-1][0], found[-1][1], max(found[-1][2], end))
        else:
            found.append((height, start, end))
    return found


def underline(pieces: Sequence[Piece], rules: Rules) -> None:
    """Record the rules that are drawn right below pieces."""
    if not rules.level:
        return
    low = sorted(pieces, key=lambda piece: piece.y1)
    bottoms = [piece.y1 for piece in low]
    for y, start, end in rules.level:
        for piece in low[bisect.bisect_left(bottoms, y - _BELOW) : bisect.bisect_right(bottoms, y + _WITHIN)]:
            if piece.y0 < y - _BELOW and start - _OVER <= piece.x0 and piece.x1 <= end + _OVER:
                piece.underline = (start, end)
