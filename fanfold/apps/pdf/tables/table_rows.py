"""Adds lines next to a table to it if they are its rows: separate headers and multi-line cells are easily missed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fanfold.apps.pdf.markdown.inline import escaped
from fanfold.apps.pdf.markdown.layout import Line
from fanfold.apps.pdf.markdown.pieces import Piece, Table
from fanfold.apps.pdf.tables import spaced
from fanfold.apps.pdf.tables.judging import are_unaligned, is_table

# In multiples of the type size: maximum distance of a line from the table, of a cell from its column, and between pieces of
# one cell.
_NEAR = 1.6
_HEAD_NEAR = 3.5
_ALIGNED = 0.7
_CELL_GAP = 1.2
_GRID_GAP = 1.8
_MARKER = re.compile(r"\W{1,2}|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]+)[.)]")


def absorb(lines: Sequence[Line]) -> list[Line]:
    """The lines, with table rows moved into their tables and parts of one table joined."""
    kept: list[Line] = []
    for line in _with_grids(lines):
        above = kept[-1] if kept else None
        if above is not None and above.table is not None and _takes(above, line):
            continue
        if line.table is not None and above is not None and above.table is None and is_head(above, line.table):
            add(line.table, [[text_of(cell) for cell in cells_of(above)]], 0)
            kept.pop()
        kept.append(line)
    return kept


def _with_grids(lines: Sequence[Line]) -> list[Line]:
    """The lines, with tables made from those whose cells are aligned in columns."""
    if sum(len(line.pieces) > 1 for line in lines) < 2:
        return list(lines)
    made: list[Line] = []
    rows: list[Line] = []
    for line in lines:
        if rows and not _goes_on(rows, line):
            made.extend(_grid(rows))
            rows = []
        rows.append(line)
    return made + _grid(rows)


def _goes_on(rows: list[Line], line: Line) -> bool:
    if len(line.pieces) < 2 or len(rows[-1].pieces) < 2:
        return False
    above, below = cells_of(rows[-1], _GRID_GAP), cells_of(line, _GRID_GAP)
    return (
        1 < len(below) == len(above)
        and line.y0 - rows[-1].y1 < _NEAR * line.size
        and all(_aligned(one, other, line.size) for one, other in zip(above, below, strict=True))
    )


def _aligned(one: list[Piece], other: list[Piece], size: float) -> bool:
    left, right = abs(one[0].x0 - other[0].x0), abs(one[-1].x1 - other[-1].x1)
    return min(left, right, abs(left - right)) < size and one[0].x0 < other[-1].x1 and other[0].x0 < one[-1].x1


def _grid(rows: list[Line]) -> list[Line]:
    """A table, if there are enough rows to be sure: three rows of two cells, or two rows of more."""
    first = rows[0]
    if len(rows) < 2:
        return rows
    cells = [cells_of(row, _GRID_GAP) for row in rows]
    count = len(cells[0])
    if count < 2 or len(rows) + count < 5 or first.mono or _MARKER.fullmatch(text_of(cells[0][0])):
        return rows
    if are_unaligned(list(zip(*cells, strict=True))):
        return rows
    columns = [(min(row[i][0].x0 for row in cells), max(row[i][-1].x1 for row in cells)) for i in range(count)]
    texts = [[text_of(cell) for cell in row] for row in cells]
    box = (min(row.x0 for row in rows), first.y0, max(row.x1 for row in rows), rows[-1].y1)
    pieces = [piece for row in rows for piece in row.pieces]
    made = spaced.build(pieces, None)
    if made is None or made.spans or len(made.columns) != count:
        made = Table(texts, columns, *box)
    return [Line("", *box, 0.0, False, False, [], made)] if is_table(made, pieces, first.size) else rows


def _takes(holder: Line, line: Line) -> bool:
    """Add a line or table part to the table above if it continues that table."""
    table = holder.table
    if table is None or table.is_ruled:
        return False
    if line.table is not None:
        size = (line.y1 - line.y0) / max(len(line.table.rows), 1)
        if not _same_columns(table, line.table) or line.y0 - holder.y1 > size:
            return False
        add(table, line.table.rows)
    else:
        row = _row(table, line)
        if row is None or line.y0 - holder.y1 > _NEAR * line.size:
            return False
        add(table, [row])
    holder.y1 = line.y1
    return True


def add(table: Table, rows: list[list[str]], at: int | None = None) -> None:
    """Add rows to a table, whose other cells are then known as text only."""
    place = len(table.rows) if at is None else at
    table.rows[place:place] = rows
    if table.marked is not None:
        table.marked[place:place] = [[escaped(cell) for cell in row] for row in rows]


def _same_columns(one: Table, other: Table) -> bool:
    return len(one.columns) == len(other.columns) and all(
        left[0] < right[1] + 1 and right[0] < left[1] + 1
        for left, right in zip(one.columns, other.columns, strict=True)
    )


def _row(table: Table, line: Line) -> list[str] | None:
    """The cells of a line if each is at a column start other than the first: text in the first follows the table."""
    row = [""] * len(table.columns)
    for cell in cells_of(line):
        for index, (left, _right) in enumerate(table.columns):
            if index and abs(cell[0].x0 - left) < _ALIGNED * line.size:
                row[index] = text_of(cell)
                break
        else:
            return None
    return row


def is_head(line: Line, table: Table) -> bool:
    """Whether the line directly above a table is its header: as many cells, each above its column."""
    if table.is_ruled or not line.bold or table.y0 - line.y1 > _HEAD_NEAR * line.size:
        return False
    cells = cells_of(line)
    return len(cells) == len(table.columns) and all(
        cell[0].x0 < right + 4 * line.size and cell[-1].x1 > left - 4 * line.size
        for cell, (left, right) in zip(cells, table.columns, strict=True)
    )


def cells_of(line: Line, gap: float = _CELL_GAP) -> list[list[Piece]]:
    cells: list[list[Piece]] = []
    edge = float("-inf")
    for piece in line.pieces:
        if piece.x0 - edge > gap * line.size:
            cells.append([])
        cells[-1].append(piece)
        edge = piece.x1
    return cells


def text_of(cell: list[Piece]) -> str:
    return " ".join(piece.text for piece in cell)
