"""Rows of a table without upright rules: lines, their cells, and lines that belong to one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fanfold.apps.pdf.markdown.lines import Line, lines
from fanfold.apps.pdf.markdown.pieces import Piece

# In multiples of the type size: a wider gap separates cells; lines closer than this touch, so they belong to one row.
CELL_GAP = 0.75
_TOUCHING = 0.06


@dataclass(slots=True)
class Row:
    """A line of a table and its cells."""

    line: Line
    cells: list[list[Piece]]


def rows_of(pieces: Sequence[Piece], gap: float = CELL_GAP) -> list[Row]:
    """The lines of a table with their cells, which are wider apart than ``gap``, in multiples of the type size."""
    return [Row(line, _cells(line, gap)) for line in lines(pieces)]


def _cells(line: Line, gap: float) -> list[list[Piece]]:
    found: list[list[Piece]] = []
    edge = float("-inf")
    for piece in sorted(line.pieces, key=lambda piece: piece.x0):
        if piece.x0 - edge > gap * line.size:
            found.append([])
        found[-1].append(piece)
        edge = max(edge, piece.x1)
    return found


def lengths_of(band: Sequence[Row]) -> list[int]:
    """Lengths of the texts side by side in lines that touch."""
    found: list[int] = []
    edge = float("-inf")
    for piece in sorted((piece for row in band for piece in row.line.pieces), key=lambda piece: piece.x0):
        if piece.x0 - edge > CELL_GAP * piece.size:
            found.append(0)
        found[-1] += len(piece.text)
        edge = max(edge, piece.x1)
    return found


def bands_of(rows: Sequence[Row], separators: Sequence[float]) -> Iterator[list[Row]]:
    """Lines that touch each other, or that stand between the same two rules if rules separate most rows."""
    is_ruled = 2 * len(separators) > len(rows) and len(separators) > 3
    band: list[Row] = []
    bottom = 0.0
    for row in rows:
        top = min(piece.y0 for piece in row.line.pieces)
        if is_ruled:
            apart = band and any(_middle(band[-1]) < place < _middle(row) for place in separators)
        else:
            apart = bool(band) and top - bottom > _TOUCHING * row.line.size
        if apart:
            yield band
            band = []
        bottom = max(bottom if band else 0.0, *(piece.y1 for piece in row.line.pieces))
        band.append(row)
    if band:
        yield band


def _middle(row: Row) -> float:
    return (row.line.y0 + row.line.y1) / 2
