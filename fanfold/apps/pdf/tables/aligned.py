"""Finds all rows of a table without rules, of which the layout engine saw a part, or with lines of text beside it.

Rows have their cells in the same columns; a line across columns is text, a caption or a title between rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from statistics import median, median_low

from fanfold.apps.pdf.heads.heading_words import CAPTION
from fanfold.apps.pdf.markdown.lines import Box, lines
from fanfold.apps.pdf.markdown.pieces import Piece, Table
from fanfold.apps.pdf.markdown.zones import is_running
from fanfold.apps.pdf.tables import spaced
from fanfold.apps.pdf.tables.spaced_rows import CELL_GAP, Row, rows_of
from fanfold.apps.pdf.tables.table_rows import add, cells_of, is_head, text_of

# In multiples of the type size: pieces this far outside the columns belong to them.
_BESIDE = 1.0
# The distance between rows may be this much larger than it usually is, and for a row of one cell this much.
_FURTHER = 1.6
_SAME_DISTANCE = 0.2
_LEAST_ROWS = 2
_CLOSE = 0.45
_ALIGNED = 0.3
_HEAD_BESIDE = 5.0
# A column beside the known ones: how many of the rows have a cell in it, how long and (in multiples of the type size) how far
# away it may be, and how many more columns are looked for.
_MOST_ADDED = 3
_LEAST_BESIDE = 3
_MOST_ROWS = 0.7
_LONGEST_CELL = 38
_LEVEL = 0.2
_ONE_PLACE = 2.0
_COLUMN_GAP = 0.5
_FURTHEST = 6.0


def whole(seen: Table, there: Sequence[Piece], pieces: Sequence[Piece]) -> Iterator[Table]:
    """The table of which ``there`` are the known pieces, with the rows that it lacks and without lines that are none.

    First with columns that are nearly as close as words, if white space divides all rows there, then with others.
    """
    known = _widened(there, pieces)
    for gap in (_CLOSE, CELL_GAP):
        found = _whole(seen, known, pieces, gap)
        if found is not None and not found.spans:
            yield found


def _whole(seen: Table, there: Sequence[Piece], pieces: Sequence[Piece], gap: float) -> Table | None:
    several = [row for row in rows_of(there, gap) if len(row.cells) > 1]
    if len(several) < _LEAST_ROWS:
        return None
    size = median(row.line.size for row in several)
    columns = spaced.columns_of(several, size)
    edges = columns[0][0] - _BESIDE * size, columns[-1][1] + _BESIDE * size
    if len(columns) < 2 or any(row.line.x0 < edges[0] or row.line.x1 > edges[1] for row in several):
        return None
    rows = rows_of([piece for piece in pieces if piece.x0 < edges[1] and edges[0] < piece.x1], gap)
    kinds = [_kind(row, columns) for row in rows]
    ends = _edges(seen, rows, kinds)
    if ends is None:
        return None
    first, last = ends
    found = spaced.build([piece for row in rows[first : last + 1] for piece in row.line.pieces], None, gap=gap)
    return _with_head(found, pieces, size) if found is not None else None


def _with_head(found: Table, pieces: Sequence[Piece], size: float) -> Table:
    """The table with the bold line above it, if that names its columns: the names may be wider than what is below them."""
    left, right = found.x0 - _HEAD_BESIDE * size, found.x1 + _HEAD_BESIDE * size
    above = [piece for piece in pieces if piece.y1 < found.y0 + 1 and left < piece.x0 and piece.x1 < right]
    head = max(lines(above), key=lambda line: line.y0, default=None)
    if head is not None and not found.spans and is_head(head, found):
        add(found, [[text_of(cell) for cell in cells_of(head)]], 0)
        found.x0, found.x1 = min(found.x0, head.x0), max(found.x1, head.x1)
        found.y0 = head.y0
        found.pieces = [*head.pieces, *found.pieces] if found.pieces is not None else None
    return found


def _widened(there: Sequence[Piece], pieces: Sequence[Piece]) -> list[Piece]:
    """The known pieces with the columns to their left and right that the layout engine took for text."""
    found = list(there)
    for _ in range(_MOST_ADDED):
        added = [piece for side in (-1, 1) for piece in _column_beside(found, pieces, side)]
        if not added:
            break
        found += added
    return found


def _column_beside(there: Sequence[Piece], pieces: Sequence[Piece], side: int) -> list[Piece]:
    """The next column on one side: short cells level with most rows, which begin or end in one place, and no text."""
    rows = rows_of(there)
    known = set(map(id, there))
    edge = min(piece.x0 for piece in there) if side < 0 else max(piece.x1 for piece in there)
    cells: list[Piece] = []
    for row in rows:
        level = [
            piece
            for piece in pieces
            if id(piece) not in known and abs(piece.y0 + piece.y1 - 2 * _middle(row)) < 2 * _LEVEL * piece.size
        ]
        beside = [piece for piece in level if (piece.x1 < edge if side < 0 else piece.x0 > edge)]
        if beside:
            cells.append(min(beside, key=lambda piece: edge - piece.x1 if side < 0 else piece.x0 - edge))
    if len(cells) < max(_LEAST_BESIDE, _MOST_ROWS * len(rows)) or max(len(cell.text) for cell in cells) > _LONGEST_CELL:
        return []
    size = cells[0].size
    gap = edge - max(cell.x1 for cell in cells) if side < 0 else min(cell.x0 for cell in cells) - edge
    places = ([cell.x0 for cell in cells], [cell.x1 for cell in cells])
    aligned = max(sum(abs(place - median_low(found)) < _ONE_PLACE for place in found) for found in places)
    is_near = _COLUMN_GAP * size < gap < _FURTHEST * size
    return cells if is_near and aligned >= _MOST_ROWS * len(cells) and not is_running(list[Box](cells)) else []


def _edges(seen: Table, rows: Sequence[Row], kinds: Sequence[str]) -> tuple[int, int] | None:
    """The first and the last row; None if there are not two below each other."""
    inside = [at for at, row in enumerate(rows) if seen.y0 - 1 < _middle(row) < seen.y1 + 1]
    known = [at for at in inside if kinds[at] == "row"]
    steps = [
        _middle(rows[below]) - _middle(rows[above]) for above, below in itertools.pairwise(known) if below == above + 1
    ]
    if not steps:
        return None
    found = []
    for start, step in ((known[0], -1), (known[-1], 1)):
        reached = _reached(rows, kinds, start, median(steps), step)
        # Lines of one cell that the layout engine saw in the table are wrapped cells.
        while reached + step in inside and kinds[reached + step] in ("single", "wrapped"):
            reached += step
        found.append(reached)
    return found[0], found[1]


def _kind(row: Row, columns: Sequence[tuple[float, float]]) -> str:
    """Whether a line is a row with several cells, has a single one, the rest of another one, or runs across columns."""
    covered = [spaced.covered(cell[0].x0, max(piece.x1 for piece in cell), columns) for cell in row.cells]
    if (
        any(count > 1 for _, count in covered)
        or len({at for at, _ in covered}) < len(covered)
        or CAPTION.match(row.line.text)
    ):
        return "across"
    column = covered[0][0]
    left, right = columns[column]
    # Lines of the last column may be longer than those of its rows.
    is_open = column == len(columns) - 1 > 0 and abs(row.line.x0 - left) < _ALIGNED * row.line.size
    outside = row.line.x0 < left - row.line.size or (row.line.x1 > right + row.line.size and not is_open)
    if len(covered) == 1 and outside:
        return "across"
    if len(covered) > 1:
        return "row"
    return "wrapped" if column else "single"


def _reached(rows: Sequence[Row], kinds: Sequence[str], start: int, usual: float, step: int) -> int:
    """The last row of the table in one direction."""
    found = at = start
    while 0 <= at + step < len(rows):
        distance = abs(_middle(rows[at + step]) - _middle(rows[at]))
        at += step
        if kinds[at] == "across" or distance > _FURTHER * usual:
            break
        if kinds[at] == "row":
            found = at
        elif distance > (1 + _SAME_DISTANCE) * usual or (
            kinds[at] == "single" and distance < (1 - _SAME_DISTANCE) * usual
        ):
            break
    return found


def _middle(row: Row) -> float:
    return (row.line.y0 + row.line.y1) / 2
