"""Reads a table as lines: a row is one line, with its cells separated by tabs, also where their text is wrapped.

If the table were read line by line, the pieces of a wrapped cell would alternate with those of its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

from fanfold.apps.pdf.markdown import layout
from fanfold.apps.pdf.markdown.layout import Line
from fanfold.apps.pdf.markdown.pieces import Piece, Table

# A row with more text is not a row of values: its cells are read one after the other, each line by line.
_LONGEST_ROW = 300


def cell_lines(table: Table, pieces: Sequence[Piece]) -> list[Line]:
    """The lines of a table, row by row; where its cells cannot be told apart, line by line."""
    columns = _by_column(table, pieces)
    lines: list[Line] = []
    for row in table.rows:
        cells: list[list[Line]] = []
        for column, text in zip(columns, row, strict=False):
            taken = _taken(column, _letters(text))
            if taken is None:
                return layout.lines(pieces)
            cells.append(layout.lines(taken))
        lines.extend(_row(cells))
    return layout.lines(pieces) if any(columns) else lines


def _by_column(table: Table, pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces of each column, from top to bottom."""
    columns: list[list[Piece]] = [[] for _ in table.columns]
    for piece in sorted(pieces, key=lambda piece: (round(piece.y0 + piece.y1), piece.x0)):
        middle = (piece.x0 + piece.x1) / 2
        near = min(range(len(columns)), key=lambda at: _distance(table.columns[at], middle), default=None)
        if near is not None:
            columns[near].append(piece)
    return columns


def _distance(column: tuple[float, float], x: float) -> float:
    return max(column[0] - x, x - column[1], 0.0)


def _taken(column: list[Piece], letters: str) -> list[Piece] | None:
    """Take the pieces of the next cell from a column; None if they do not match the text of the cell."""
    taken: list[Piece] = []
    length = 0
    while length < len(letters) and column:
        piece = column.pop(0)
        taken.append(piece)
        length += len(_letters(piece.text))
    found = sorted("".join(_letters(piece.text) for piece in taken))
    return taken if found == sorted(letters) else None


def _letters(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


def _row(cells: list[list[Line]]) -> list[Line]:
    text = "\t".join(" ".join(line.text for line in cell) for cell in cells)
    pieces = [piece for cell in cells for line in cell for piece in line.pieces]
    if not pieces or len(text) > _LONGEST_ROW:
        return [line for cell in cells for line in cell]
    first = pieces[0]
    edges = (min(piece.x0 for piece in pieces), min(piece.y0 for piece in pieces))
    ends = (max(piece.x1 for piece in pieces), max(piece.y1 for piece in pieces))
    return [Line(text.strip("\t"), *edges, *ends, first.size, False, False, pieces)]
