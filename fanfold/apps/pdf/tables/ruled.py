"""Finds tables whose cells are drawn: level and upright rules that cross form a grid, and a missing rule joins two cells."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from statistics import median

from fanfold.apps.pdf.markdown.lines import Line, lines
from fanfold.apps.pdf.markdown.pieces import Piece, Rules, Table
from fanfold.apps.pdf.tables.grids import Cell, Edges, cut, is_figure, table

Span = tuple[float, float, float]

# In points: rules this close touch, and rules this close are one.
_TOUCH = 3.0
_SAME = 3.0
# In points: a rule that ends this close to both ends of a word belongs to the word.
_HUG = 5.0
_BUCKET = 10.0
_MOST_COLUMNS = 60
_MOST_ROWS = 300
# A grid with a smaller share of cells with text is a chart, a form or a page layout.
_LEAST_FILLED = 0.3
# Largest share of the pieces of a row without upright rules that may run over the end of their column.
_CROSSED = 0.1
# Values one below the other in a drawn row are rows of their own from this many on.
_ROWS_IN_ROW = 3


def find(pieces: Sequence[Piece], rules: Rules) -> list[Table]:
    """The tables of a page that are drawn as grids."""
    if len(rules.level) < 2 or not rules.upright:
        return []
    found: list[Table] = []
    for level, upright in _crossing(_beside_text(pieces, rules)):
        made = _table(pieces, level, upright)
        if made is not None:
            found.append(made)
    return found


def _beside_text(pieces: Sequence[Piece], rules: Rules) -> Rules:
    """The rules without those that hug a single piece of text: an underline, or the box around a word."""
    near: dict[int, list[Piece]] = {}
    for piece in pieces:
        near.setdefault(int(piece.x0 // _BUCKET), []).append(piece)

    def beside(x: float) -> Iterator[Piece]:
        bucket = int(x // _BUCKET)
        yield from itertools.chain.from_iterable(near.get(at, ()) for at in (bucket - 1, bucket, bucket + 1))

    def hugs_line(rule: Span) -> bool:
        y, left, right = rule
        return any(
            abs(piece.x0 - left) < _HUG and abs(piece.x1 - right) < _HUG and piece.y0 - _HUG < y < piece.y1 + _HUG
            for piece in beside(left)
        )

    level = [rule for rule in rules.level if not hugs_line(rule)]
    return Rules(level, rules.upright)


def _crossing(rules: Rules) -> Iterator[tuple[list[Span], list[Span]]]:
    """Groups of rules that cross or touch each other."""
    group = list(range(len(rules.level) + len(rules.upright)))

    def root(at: int) -> int:
        while group[at] != at:
            group[at] = group[group[at]]
            at = group[at]
        return at

    for index, (y, left, right) in enumerate(rules.level):
        for other, (x, top, bottom) in enumerate(rules.upright, len(rules.level)):
            if left - _TOUCH <= x <= right + _TOUCH and top - _TOUCH <= y <= bottom + _TOUCH:
                group[root(other)] = root(index)
    members: dict[int, tuple[list[Span], list[Span]]] = {}
    for at in range(len(group)):
        level, upright = members.setdefault(root(at), ([], []))
        if at < len(rules.level):
            level.append(rules.level[at])
        else:
            upright.append(rules.upright[at - len(rules.level)])
    yield from (both for both in members.values() if len(both[0]) > 1 and both[1])


def _table(pieces: Sequence[Piece], level: list[Span], upright: list[Span]) -> Table | None:
    ends = [end for _, start, stop in upright for end in (start, stop)]
    sides = [end for _, start, stop in level for end in (start, stop)]
    ys = _marks([y for y, _, _ in level], (min(ends), max(ends)))
    xs = _marks([x for x, _, _ in upright], (min(sides), max(sides)))
    if not (2 <= len(xs) - 1 <= _MOST_COLUMNS and 1 <= len(ys) - 1 <= _MOST_ROWS):
        return None
    edges = (xs[0], ys[0], xs[-1], ys[-1])
    there = [piece for piece in pieces if _within(piece, edges)]
    if not there:
        return None
    plain = _undrawn(xs, ys, upright, there)
    cells = list(_cells(xs, ys, level, upright, plain))
    if not _assign(cells, there, xs, ys, plain):
        return None
    filled = [cell for cell in cells if cell.pieces]
    if len(filled) < 4 or len(filled) < _LEAST_FILLED * len(cells):
        return None
    heads = max((cell.rows for cell in cells if cell.row == 0 and cell.pieces), default=1)
    cells, heads = _with_rows(cells, heads)
    made = table(cells, edges, list(itertools.pairwise(xs)), heads)
    if made is not None:
        made.is_ruled, made.is_drawn, made.pieces = True, True, there
    return made


def _marks(places: list[float], ends: tuple[float, float]) -> list[float]:
    """The distinct places in order, with the ends of the crossing rules if nothing is drawn there."""
    found: list[float] = []
    for place in sorted([*places, *ends]):
        if not found or place - found[-1] > _SAME:
            found.append(place)
    return found


def _within(piece: Piece, edges: Edges) -> bool:
    x, y = (piece.x0 + piece.x1) / 2, (piece.y0 + piece.y1) / 2
    return edges[0] - 1 <= x <= edges[2] + 1 and edges[1] - 1 <= y <= edges[3] + 1


def _is_drawn(rules: Sequence[Span], place: float, along: float) -> bool:
    """Whether one of these rules runs at this place, past this point of it."""
    return any(abs(at - place) <= _SAME and start - 1 <= along <= end + 1 for at, start, end in rules)


def _undrawn(xs: list[float], ys: list[float], upright: list[Span], pieces: Sequence[Piece]) -> set[int]:
    """The rows without upright rules that have the columns of the others.

    If every other row is shaded, the rows between them have no edges; below a header, often only the outer edges are drawn.
    """
    found: set[int] = set()
    for row, (top, bottom) in enumerate(itertools.pairwise(ys)):
        y = (top + bottom) / 2
        is_below = row > 0 and not any(_is_drawn(upright, x, y) for x in xs[1:-1])
        if not any(_is_drawn(upright, x, y) for x in xs) or (is_below and _keeps_columns(pieces, xs, (top, bottom))):
            found.add(row)
    return found


def _keeps_columns(pieces: Sequence[Piece], xs: list[float], edges: tuple[float, float]) -> bool:
    """Whether the text between two level rules stays within the columns drawn above it, and fills several of them."""
    there = [piece for piece in pieces if edges[0] < (piece.y0 + piece.y1) / 2 < edges[1]]
    across = [piece for piece in there if any(piece.x0 + piece.size < x < piece.x1 - piece.size for x in xs[1:-1])]
    columns = [_column(piece.x0 + piece.size / 2, xs) for piece in there]
    return len(across) <= _CROSSED * len(there) and sum(columns.count(column) > 1 for column in set(columns)) > 1


def _column(x: float, xs: list[float]) -> int:
    """The column that a place is in."""
    return min(max(sum(edge <= x for edge in xs) - 1, 0), len(xs) - 2)


def _cells(xs: list[float], ys: list[float], level: list[Span], upright: list[Span], plain: set[int]) -> Iterator[Cell]:
    """The cells of the grid; those without a rule between them are one, except in ``plain`` rows."""
    taken: set[tuple[int, int]] = set()

    def is_open(row: int, column: int, down: bool) -> bool:
        """Whether nothing is drawn between a cell and the next one."""
        if down:
            return not _is_drawn(level, ys[row + 1], (xs[column] + xs[column + 1]) / 2)
        return row not in plain and not _is_drawn(upright, xs[column + 1], (ys[row] + ys[row + 1]) / 2)

    for row, column in itertools.product(range(len(ys) - 1), range(len(xs) - 1)):
        if (row, column) in taken:
            continue
        right, below = column + 1, row + 1
        while right < len(xs) - 1 and (row, right) not in taken and is_open(row, right - 1, down=False):
            right += 1
        while below < len(ys) - 1 and all(
            (below, at) not in taken and is_open(below - 1, at, down=True) for at in range(column, right)
        ):
            if any(not is_open(below, at, down=False) for at in range(column, right - 1)):
                break
            below += 1
        taken.update(itertools.product(range(row, below), range(column, right)))
        yield Cell(row, column, below - row, right - column)


def _assign(cells: Sequence[Cell], pieces: Sequence[Piece], xs: list[float], ys: list[float], plain: set[int]) -> bool:
    """Put the pieces into their cells; False if the text runs across the rules, which then are no cells."""
    place = {
        (row, column): cell
        for cell in cells
        for row in range(cell.row, cell.row + cell.rows)
        for column in range(cell.column, cell.column + cell.columns)
    }
    across = 0
    for piece in pieces:
        row = min(max(sum(y <= (piece.y0 + piece.y1) / 2 for y in ys) - 1, 0), len(ys) - 2)
        overhangs = row in plain and piece.x1 - piece.x0 > 2 * piece.size
        cell = place[row, _column(piece.x0 + piece.size / 2 if overhangs else (piece.x0 + piece.x1) / 2, xs)]
        left, right = xs[cell.column], xs[cell.column + cell.columns]
        if left - piece.size <= piece.x0 and (overhangs or piece.x1 <= right + piece.size):
            cell.pieces.append(piece)
            continue
        across += 1
        for part in cut(piece, xs):
            place[row, _column((part.x0 + part.x1) / 2, xs)].pieces.append(part)
    return across <= max(1, 0.05 * len(pieces))


def _with_rows(cells: list[Cell], heads: int) -> tuple[list[Cell], int]:
    """The cells, with values that stand one below the other in a drawn row as rows of their own."""
    last = max(cell.row + cell.rows for cell in cells)
    levels = [_levels_of(cells, row, last - heads) for row in range(last)]
    starts = [0, *itertools.accumulate(max(len(heights), 1) for heights in levels)]
    made: list[Cell] = []
    for cell in cells:
        if levels[cell.row] and cell.rows == 1:
            made.extend(_split(cell, levels[cell.row], starts[cell.row]))
        else:
            rows = starts[cell.row + cell.rows] - starts[cell.row]
            made.append(Cell(starts[cell.row], cell.column, rows, cell.columns, cell.pieces, cell.is_list))
    return made, starts[heads]


def _levels_of(cells: Sequence[Cell], row: int, body: int) -> list[float]:
    """Heights at which a drawn row is divided; marks cells with a few values one below the other."""
    here = [cell for cell in cells if cell.row == row and cell.rows == 1 and cell.pieces]
    levels = _levels(here)
    if len(levels) >= _ROWS_IN_ROW or (levels and body < 2):
        return levels
    for cell in here:
        cell.is_list = bool(levels)
    return []


def _levels(cells: Sequence[Cell]) -> list[float]:
    """Heights of the rows of values within a drawn row; none if its cells hold running text."""
    if len(cells) < 2:
        return []
    heights = [[(line.y0 + line.y1) / 2 for line in cell.lines] for cell in cells]
    size = median(piece.size for cell in cells for piece in cell.pieces)
    values = [own for cell, own in zip(cells, heights, strict=True) if all(map(_is_value, cell.lines))]
    most = max(values or heights, key=len)
    if len(most) < 2:
        return []
    full = [own for own in heights if len(own) >= len(most) and _is_part(most, own, size)]
    # Wrapped words also end up side by side, but figures are not wrapped, nor are all cells wrapped alike.
    is_even = len(full) == len(cells) and len(most) >= _ROWS_IN_ROW and all(len(own) == len(most) for own in full)
    enough = len(full) >= max(2, 0.6 * len(cells)) and (len(most) == max(map(len, values), default=0) or is_even)
    return most if enough and all(len(own) == 1 or own in full or _is_part(own, most, size) for own in heights) else []


def _is_value(line: Line) -> bool:
    """Whether a line of a cell is a value by itself: a figure, or text followed by leader dots."""
    return is_figure(line.text) or line.text.endswith("..")


def _is_part(own: list[float], most: list[float], size: float) -> bool:
    return all(any(abs(one - other) < 0.6 * size for other in most) for one in own)


def _split(cell: Cell, levels: list[float], start: int) -> Iterator[Cell]:
    parts: dict[int, list[Piece]] = {}
    found = lines(cell.pieces)
    if len(found) == 1 and not _is_part([(found[0].y0 + found[0].y1) / 2], levels, found[0].size):
        # A single value half way down belongs to all of these rows.
        yield Cell(start, cell.column, len(levels), cell.columns, cell.pieces)
        return
    for line in found:
        # Wrapped words are below the value that they belong to.
        at = max(sum(level < (line.y0 + line.y1) / 2 + 0.6 * line.size for level in levels) - 1, 0)
        parts.setdefault(at, []).extend(line.pieces)
    yield from (Cell(start + at, cell.column, 1, cell.columns, pieces) for at, pieces in parts.items())
