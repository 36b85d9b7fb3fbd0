"""Builds tables whose columns are separated by white space: between level rules, or where the layout engine saw one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from statistics import median

from fanfold.apps.pdf.heads.heading_words import CAPTION
from fanfold.apps.pdf.markdown.lines import Line
from fanfold.apps.pdf.markdown.pieces import Piece, Rules, Table
from fanfold.apps.pdf.tables.grids import Cell, is_figure, table
from fanfold.apps.pdf.tables.spaced_rows import CELL_GAP, Row, bands_of, lengths_of, rows_of

Span = tuple[float, float, float]

# In points: rules whose ends differ less belong to one table.
_SAME_END = 5.0
# In multiples of the type size: a wider gap separates cells; a column's gap is at least this wide.
_CELL_GAP = 0.75
_COLUMN_GAP = 0.45
# Largest share of the rows that may cross the gap between two columns.
_CROSSED = 0.12
_MANY = 5
_MOSTLY = 0.8
_MOST_COLUMNS = 40
# In multiples of the type size: lines closer than this touch, so they belong to one row.
_TOUCHING = 0.06
_HEAD_NEAR = 2.5
_MOST_WRAPPED = 12
# Every row of a table has a cell that is shorter than this; wrapped cells may be longer, but not as columns of text.
_LONGEST_CELL = 38
_LONGEST_WRAPPED = 400
# In multiples of the type size: lines of one row are closer than this.
_TIGHT = 1.35


def between_rules(pieces: Sequence[Piece], rules: Rules, taken: Sequence[Table]) -> list[Table]:
    """Tables between level rules of the same length."""
    free = [rule for rule in rules.level if not any(_is_in(rule, other) for other in taken)]
    found: list[Table] = []
    for stack in _stacks(free):
        for run in _runs(pieces, stack, free):
            made = _between(pieces, run, free)
            if made is not None:
                found.append(made)
    return found


def _is_in(rule: Span, other: Table) -> bool:
    return other.y0 - 2 <= rule[0] <= other.y1 + 2 and other.x0 - 3 <= rule[1] and rule[2] <= other.x1 + 3


def _stacks(rules: Sequence[Span]) -> Iterator[list[Span]]:
    """Rules of the same length, one above the other."""
    left = sorted(rules)
    while left:
        first = left[0]
        stack = [rule for rule in left if abs(rule[1] - first[1]) < _SAME_END and abs(rule[2] - first[2]) < _SAME_END]
        left = [rule for rule in left if rule not in stack]
        if len(stack) > 1 and first[2] - first[1] > 40:
            yield stack


def _runs(pieces: Sequence[Piece], stack: list[Span], rules: Sequence[Span]) -> Iterator[list[Span]]:
    """Consecutive rules with rows of cells between them, and not text."""
    run: list[Span] = [stack[0]]
    for above, below in itertools.pairwise(stack):
        there = _there(pieces, above[1], above[0], above[2], below[0])
        if below[0] - above[0] < 4 or (there and _is_tabular(rows_of(there))):
            run.append(below)
            continue
        if len(run) > 1:
            yield run
        run = [below]
    if len(run) > 1:
        yield run


def _there(pieces: Sequence[Piece], left: float, top: float, right: float, bottom: float) -> list[Piece]:
    return [
        piece
        for piece in pieces
        if top - 1 <= (piece.y0 + piece.y1) / 2 <= bottom + 1 and left - 4 <= (piece.x0 + piece.x1) / 2 <= right + 4
    ]


def _is_tabular(rows: Sequence[Row]) -> bool:
    """Whether most rows have several cells, one of which is short."""
    sizes = [lengths_of(band) for band in bands_of(rows, ())]
    several = [found for found in sizes if len(found) > 1]
    if 2 * len(several) < len(sizes) or not several:
        return False
    return not any(min(found) > _LONGEST_CELL or max(found) > _LONGEST_WRAPPED for found in several)


def _between(pieces: Sequence[Piece], run: list[Span], rules: Sequence[Span]) -> Table | None:
    left, right = run[0][1], run[0][2]
    there = _there(pieces, left, run[0][0], right, run[-1][0])
    if not there:
        return None
    inner = [rule for rule in rules if run[0][0] < rule[0] < run[-1][0] and rule not in run]
    short = [rule for rule in inner if rule[1] >= left - 3 and rule[2] <= right + 3]
    titles = _titles(there) if len(run) == 2 and not short else []
    if titles:
        known = set(map(id, titles))
        there = [piece for piece in there if id(piece) not in known]
    head = [] if titles else _above(pieces, run[0], there)
    head_end = run[0][0] if head else _head_end(run, short, there)
    made = build([*head, *there], head_end, short, [rule[0] for rule in run])
    if made is None:
        return None
    everything = [*head, *there]
    made.x0, made.x1 = min(left, *(piece.x0 for piece in everything)), max(right, *(piece.x1 for piece in everything))
    top = min(piece.y0 for piece in everything)
    made.y0, made.y1 = (top if titles else min(run[0][0], top)), run[-1][0]
    made.is_ruled = True
    return made


def _titles(there: Sequence[Piece]) -> list[Piece]:
    """Lines across columns below the first rule, which is then that of the page and not that of a table."""
    rows = rows_of(there)
    several = [row for row in rows if len(row.cells) > 1]
    if len(several) < 2:
        return []
    columns = columns_of(several, median(row.line.size for row in several))
    leading = itertools.takewhile(
        lambda row: len(row.cells) == 1 and covered(row.line.x0, row.line.x1, columns)[1] > 1, rows
    )
    found = [piece for row in leading for piece in row.line.pieces]
    return found if len(found) < len(there) else []


def _above(pieces: Sequence[Piece], top: Span, there: Sequence[Piece]) -> list[Piece]:
    """The header of a table that has no rule above it: a line of several cells right above the first rule."""
    size = median(piece.size for piece in there)
    near = _there(pieces, top[1], top[0] - _HEAD_NEAR * size, top[2], top[0])
    found = rows_of([piece for piece in near if id(piece) not in set(map(id, there))])
    if not found or len(found[-1].cells) < 2 or found[-1].line.y1 < top[0] - size:
        return []
    first = next((row for row in rows_of(there) if len(row.cells) > 1), None)
    if first is None or abs(len(found[-1].cells) - len(first.cells)) > 1 or CAPTION.match(found[-1].line.text):
        return []
    return found[-1].line.pieces


def _head_end(run: list[Span], short: Sequence[Span], there: Sequence[Piece]) -> float | None:
    """The rule below the header: the second of the table, or the last short one in its upper half."""
    if len(run) > 2:
        return run[1][0]
    middles = sorted((piece.y0 + piece.y1) / 2 for piece in there)
    upper = [rule[0] for rule in short if rule[0] < middles[len(middles) // 2]]
    return max(upper, default=None)


def build(
    pieces: Sequence[Piece],
    head_end: float | None,
    short: Sequence[Span] = (),
    separators: Sequence[float] = (),
    gap: float = CELL_GAP,
) -> Table | None:
    """The table of these pieces.

    ``head_end`` is the rule below its header, ``short`` are rules below groups of columns, ``separators`` are those across it,
    ``gap`` is the white space between its cells.
    """
    rows = rows_of(pieces, gap)
    if len(rows) < 2:
        return None
    body = [row for row in rows if head_end is None or row.line.y0 + row.line.y1 > 2 * head_end]
    several = [row for row in body if len(row.cells) > 1]
    # A few lines of one cell are titles between the rows; many are wrapped cells, which fill the gaps of their column.
    told = several if several and len(several) >= _MOSTLY * len(body) else body
    columns = columns_of(told or rows, median(row.line.size for row in rows))
    if not 2 <= len(columns) <= _MOST_COLUMNS:
        return None
    heads = rows[: len(rows) - len(body)]
    cells = _head(heads, columns, short)
    first = 1 + max((cell.row + cell.rows - 1 for cell in cells), default=-1)
    for band in bands_of(body, separators):
        cells.extend(_band(band, columns, 1 + max((cell.row + cell.rows - 1 for cell in cells), default=-1)))
    edges = (
        min(piece.x0 for piece in pieces),
        min(piece.y0 for piece in pieces),
        max(piece.x1 for piece in pieces),
        max(piece.y1 for piece in pieces),
    )
    return table(cells, edges, columns, first)


def columns_of(rows: Sequence[Row], size: float) -> list[tuple[float, float]]:
    """Start and end of each column: where few rows have text, a column ends."""
    spans = [(cell[0].x0, max(piece.x1 for piece in cell)) for row in rows for cell in row.cells]
    left, right = min(start for start, _ in spans), max(end for _, end in spans)
    # How much the count changes at each place: counting every place of every row took a fifteenth of the time of a page.
    changes = [0] * (int(right - left) + 2)
    for row in rows:
        end = 0
        for cell in row.cells:  # From left to right.
            begin = max(int(cell[0].x0 - left), end)
            end = max(int(max([piece.x1 for piece in cell]) - left) + 1, end)
            if begin < end:
                changes[begin] += 1
                changes[end] -= 1
    counts = itertools.accumulate(changes)
    allowed = max(_CROSSED * len(rows), 1 if len(rows) > _MANY else 0)
    found: list[tuple[float, float]] = []
    start: int | None = None
    gap = 0
    for at, count in enumerate([*counts, 0]):
        if count > allowed:
            if start is None:
                start = at
            elif gap >= max(_COLUMN_GAP * size, 2):
                found.append((left + start, left + at - gap))
                start = at
            gap = 0
        else:
            gap += 1
    return found if start is None else [*found, (left + start, right)]


def covered(start: float, end: float, columns: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """First column and number of columns that a cell lies over."""
    over = [at for at, (left, right) in enumerate(columns) if min(end, right) - max(start, left) > 1.5]
    if not over:
        middle = (start + end) / 2
        over = [min(range(len(columns)), key=lambda at: max(columns[at][0] - middle, middle - columns[at][1]))]
    return over[0], over[-1] - over[0] + 1


def _head(rows: Sequence[Row], columns: Sequence[tuple[float, float]], short: Sequence[Span]) -> list[Cell]:
    """The cells of the header: one row, or several if some of them lie over several columns."""
    placed: list[tuple[Row, list[Piece], int, int]] = []
    for row in rows:
        places = [(cell[0].x0, max(piece.x1 for piece in cell)) for cell in row.cells]
        for at, (pieces, (start, end)) in enumerate(zip(row.cells, places, strict=True)):
            # Rules below neighbouring groups may touch, so that they are one: it is divided between the groups.
            before = (places[at - 1][1] + start) / 2 if at else float("-inf")
            after = (end + places[at + 1][0]) / 2 if at + 1 < len(places) else float("inf")
            for y, left, right in short:
                if 0 <= y - row.line.y1 + 2 < 1.5 * row.line.size and left - 3 <= (start + end) / 2 <= right + 3:
                    start, end = min(start, max(left, before)), max(end, min(right, after))
            placed.append((row, pieces, *covered(start, end, columns)))
    grouped = [id(row) for row, _, _, count in placed if 1 < count < len(columns)]
    cut = max((row.line.y1 for row in rows if id(row) in grouped), default=None)
    upper = [one for one in placed if cut is not None and one[0].line.y1 <= cut]
    lower = [one for one in placed if one not in upper]
    found = _joined(upper, 0)
    below = _joined(lower, 1 if upper else 0)
    for cell in found:
        if upper and not any(_over(cell, other) for other in below):
            cell.rows = 2
    if upper:
        # A name in the lower row without one above it belongs to both.
        for cell in below:
            if not any(_over(cell, other) for other in found):
                cell.row, cell.rows = 0, 2
    return found + below


def _over(one: Cell, other: Cell) -> bool:
    return one.column < other.column + other.columns and other.column < one.column + one.columns


def _joined(placed: Sequence[tuple[Row, list[Piece], int, int]], row: int) -> list[Cell]:
    found: dict[int, Cell] = {}
    for _, pieces, column, count in placed:
        cell = found.setdefault(column, Cell(row, column))
        cell.columns = max(cell.columns, count)
        cell.pieces.extend(pieces)
    return list(found.values())


def _band(rows: list[Row], columns: Sequence[tuple[float, float]], first: int) -> list[Cell]:
    """The cells of lines that touch: one row with wrapped cells, or a row for each of them if several fill the columns."""
    filled = [{covered(cell[0].x0, cell[-1].x1, columns)[0] for cell in row.cells} for row in rows]
    full = sum(2 * len(places) > len(columns) for places in filled)
    if len(rows) == 1 or full > 1 or (len(columns) == 2 and full and len(rows) > _MOST_WRAPPED):
        return _body(rows, columns, first)
    found: dict[int, Cell] = {}
    for row in rows:
        for pieces in row.cells:
            column, count = covered(pieces[0].x0, max(piece.x1 for piece in pieces), columns)
            cell = found.setdefault(column, Cell(first, column, 1, count))
            cell.pieces.extend(pieces)
    return list(found.values())


def _body(rows: Sequence[Row], columns: Sequence[tuple[float, float]], first: int) -> list[Cell]:
    found: list[Cell] = []
    at = first - 1
    above: Row | None = None
    current: dict[int, Cell] = {}
    for row in rows:
        placed = [(cell, *covered(cell[0].x0, max(piece.x1 for piece in cell), columns)) for cell in row.cells]
        if above is not None and _goes_on(placed, current, above.line, row.line, len(columns)):
            for pieces, column, _ in placed:
                current[column].pieces.extend(pieces)
        else:
            at += 1
            current = {}
            for pieces, column, count in placed:
                cell = current.setdefault(column, Cell(at, column, 1, count))
                cell.pieces.extend(pieces)
            found.extend(current.values())
        above = row
    return found


def _goes_on(
    placed: Sequence[tuple[list[Piece], int, int]], current: dict[int, Cell], above: Line, line: Line, columns: int
) -> bool:
    """Whether a line holds the rest of wrapped cells: words below words, without a first cell, close to the line above."""
    if line.y0 - above.y1 > (_TIGHT - 1) * line.size or 2 * len(placed) > columns or len(placed) == len(current):
        return False
    return all(
        column > 0 and column in current and not is_figure(" ".join(piece.text for piece in pieces))
        for pieces, column, _ in placed
    )
