"""Finds the edges of columns where the cells of a table are drawn one by one, but no upright rules.

Many programs draw the rule below a row, or its shading, cell by cell: where the cells of several rows meet at the same places
are the edges of columns. The header above the first rule, and the row below the last, have the same columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from fanfold.apps.pdf.heads.heading_words import CAPTION
from fanfold.apps.pdf.markdown.pieces import Piece
from fanfold.apps.pdf.reading.drawn_rules import MOST, WHITE

# In points: the cells of a row meet within this distance, are at least so wide, at most so tall, and in rows this close.
_MEET = 3.0
_LEAST_CELL = 8.0
_TALLEST_CELL = 60.0
_NEXT_ROW = 45.0
_SAME_EDGE = 2.0
_ALIGNED = 3.5
# In multiples of the type size: distance of a row from the rule beside it, and of the lines of one row.
_NEAR = 1.0
_WRAPPED = 0.4
_MOST_LINES = 3
_FILLED = 0.6


class _Row(NamedTuple):
    """A row of cells that are drawn one by one."""

    top: float
    bottom: float
    edges: list[float]


def edges_of_columns(shapes: Sequence[Any], pieces: Sequence[Piece]) -> Iterator[tuple[float, float, float]]:
    """Upright lines (x, top, bottom) where the cells of several rows meet."""
    if len(shapes) > MOST:
        return
    stack: list[_Row] = []
    for row in [*_rows(shapes), None]:
        if row is not None and (not stack or _goes_on(stack[-1], row)):
            stack.append(row)
            continue
        if len(stack) > 1:
            top, bottom = _with_open_rows(stack, pieces)
            yield from ((edge, top, bottom) for edge in stack[0].edges[1:-1])
        stack = [row] if row is not None else []


def _rows(shapes: Sequence[Any]) -> Iterator[_Row]:
    """The rows of rectangles that meet, from top to bottom."""
    boxes = sorted(
        (round(shape.bbox.y), round(shape.bbox.height), shape.bbox.x, shape.bbox.x + shape.bbox.width)
        for shape in shapes
        if not shape.has_curve
        and shape.bbox.width >= _LEAST_CELL
        and shape.bbox.height <= _TALLEST_CELL
        and (shape.stroke_color if shape.stroke else shape.fill_color) not in WHITE
    )
    for (top, height), group in itertools.groupby(boxes, key=lambda box: box[:2]):
        edges: list[float] = []
        right = 0.0
        for _, _, x0, x1 in [*group, (top, height, float("inf"), 0.0)]:
            if edges and abs(x0 - right) > _MEET:
                if len(edges) > 1:
                    yield _Row(top, top + height, [*edges, right])
                edges = []
            edges.append((x0 + right) / 2 if edges else x0)
            right = x1


def _goes_on(above: _Row, below: _Row) -> bool:
    """Whether a row of cells is the next one of the same columns."""
    is_near = below.top - above.bottom < _NEXT_ROW and len(above.edges) == len(below.edges)
    return is_near and all(abs(x - y) < _SAME_EDGE for x, y in zip(above.edges, below.edges, strict=True))


def _with_open_rows(stack: Sequence[_Row], pieces: Sequence[Piece]) -> tuple[float, float]:
    """Top and bottom of the columns, with the header above the first drawn row and the row below the last one."""
    first, last = stack[0], stack[-1]
    edges = first.edges
    inner = [piece for piece in pieces if edges[0] - 2 < (piece.x0 + piece.x1) / 2 < edges[-1] + 2]
    known = [piece for piece in inner if first.top < (piece.y0 + piece.y1) / 2 < last.bottom]
    head = _band(inner, lambda piece: first.top - piece.y1)
    foot = _band(inner, lambda piece: piece.y0 - last.bottom) if last.bottom - last.top > 3 else []
    top = min(piece.y0 for piece in head) - 1 if _is_row(head, known, edges) else first.top
    return top, max(piece.y1 for piece in foot) + 1 if _is_row(foot, known, edges) else last.bottom


def _band(pieces: Sequence[Piece], distance: Callable[[Piece], float]) -> list[Piece]:
    """The lines next to a rule: a row and its wrapped cells."""
    beside = [piece for piece in pieces if distance(piece) > -0.3 * piece.size]
    found: list[Piece] = []
    for piece in sorted(beside, key=distance):
        near = min((_apart(piece, other) for other in found), default=distance(piece) - (_NEAR - _WRAPPED) * piece.size)
        if near > _WRAPPED * piece.size:
            break
        found.append(piece)
    return found


def _apart(one: Piece, other: Piece) -> float:
    """White space between the lines of two pieces."""
    return max(one.y0 - other.y1, other.y0 - one.y1)


def _is_row(band: Sequence[Piece], known: Sequence[Piece], edges: Sequence[float]) -> bool:
    """Whether lines next to the drawn rows are a row: few, not a caption, and aligned with most of the columns."""
    if len(band) < 2 or CAPTION.match(min(band, key=lambda piece: (piece.y0, piece.x0)).text):
        return False
    if max(piece.y1 for piece in band) - min(piece.y0 for piece in band) > 1.5 * _MOST_LINES * band[0].size:
        return False
    if any(_is_prose(piece, band, edges) for piece in band):
        return False
    columns = list(itertools.pairwise(edges))
    filled = 0
    for left, right in columns:
        own = [piece for piece in known if left - 2 < piece.x0 and piece.x1 < right + 2]
        here = [piece for piece in band if piece.x0 < right - 2 and left + 2 < piece.x1]
        # Where the layout engine joined the cells of two columns, nothing is known of the second one.
        filled += any(_is_aligned(piece, other, left, right) for piece in here for other in own) if own else bool(here)
    return filled >= max(2, _FILLED * len(columns))


def _is_prose(piece: Piece, band: Sequence[Piece], edges: Sequence[float]) -> bool:
    """Whether a piece is alone on its line and runs across the edges of columns."""
    is_across = any(piece.x0 + piece.size < edge < piece.x1 - piece.size for edge in edges[1:-1])
    return is_across and not any(_apart(piece, other) < 0 for other in band if other is not piece)


def _is_aligned(piece: Piece, other: Piece, left: float, right: float) -> bool:
    """Whether a piece begins, ends or has its middle where one in the same column does."""
    middle = abs(piece.x0 + piece.x1 - other.x0 - other.x1) / 2
    return (
        piece.x0 > left - 2
        and min(abs(piece.x0 - other.x0), abs(piece.x1 - other.x1), middle, abs(right - piece.x1)) < _ALIGNED
    )
