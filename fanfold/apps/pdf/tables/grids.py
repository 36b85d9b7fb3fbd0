"""Makes a table of pieces that are assigned to rows and columns."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fanfold.apps.pdf.markdown import inline
from fanfold.apps.pdf.markdown.lines import Line, lines
from fanfold.apps.pdf.markdown.pieces import Piece, Table

Edges = tuple[float, float, float, float]
_FIGURE = re.compile(r"[\W\d_]*\d[\W\d_]*(?:[a-zA-Z%°µ]{1,3}[\W\d_]*)?|[-–—−·✓✗×]|n/?a", re.IGNORECASE)


@dataclass(slots=True)
class Cell:
    """A cell of a grid: its place, how many rows and columns it covers, and its lines."""

    row: int
    column: int
    rows: int = 1
    columns: int = 1
    pieces: list[Piece] = field(default_factory=list)
    is_list: bool = False
    """Whether each of its lines is a value of its own."""
    _read: tuple[int, list[Line]] | None = None

    @property
    def lines(self) -> list[Line]:
        """Its text, line by line; read again only if pieces were added."""
        if self._read is None or self._read[0] != len(self.pieces):
            self._read = (len(self.pieces), lines(self.pieces))
        return self._read[1]


def is_figure(text: str) -> bool:
    """Whether a cell is a number, a sign or empty, and not words."""
    return not text.strip() or _FIGURE.fullmatch(text.strip()) is not None


def table(cells: Sequence[Cell], edges: Edges, columns: Sequence[tuple[float, float]], heads: int) -> Table | None:
    """The table of these cells, without empty rows and columns; None if less than two columns or rows are left."""
    full = _without_slivers([cell for cell in cells if cell.pieces])
    rows = sorted({row for cell in full for row in range(cell.row, cell.row + 1)})
    across = sorted({cell.column for cell in full})
    if len(rows) < 2 or len(across) < 2:
        return None
    row_at = {row: index for index, row in enumerate(rows)}
    column_at = {column: index for index, column in enumerate(across)}
    texts = [[""] * len(across) for _ in rows]
    marked = [[""] * len(across) for _ in rows]
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    for cell in full:
        row, column = row_at[cell.row], column_at[cell.column]
        text, shown = written(cell, is_head=cell.row < max(heads, 1))
        texts[row][column] = f"{texts[row][column]} {text}".strip()
        marked[row][column] = f"{marked[row][column]} {shown}".strip()
        covered = (
            sum(other in row_at for other in range(cell.row, cell.row + cell.rows)),
            sum(other in column_at for other in range(cell.column, cell.column + cell.columns)),
        )
        # A cell across the whole table is a title of the rows below it, which stands in the first column as well.
        if covered != (1, 1) and covered[1] < len(across):
            spans[row, column] = covered
    spans = {place: covered for place, covered in spans.items() if _is_free(texts, place, covered)}
    kept = [columns[column] for column in across]
    head = sum(row < heads for row in rows)
    pieces = [piece for cell in full for piece in cell.pieces]
    return Table(texts, kept, *edges, marked, spans, max(head, 1), pieces)


def _is_free(texts: list[list[str]], place: tuple[int, int], covered: tuple[int, int]) -> bool:
    """Whether a cell covers no other text."""
    rows, columns = range(place[0], place[0] + covered[0]), range(place[1], place[1] + covered[1])
    return not any(texts[row][column] for row, column in itertools.product(rows, columns) if (row, column) != place)


def _without_slivers(cells: list[Cell]) -> list[Cell]:
    """The cells, without columns in which only cells begin that cover the next column too: the inset of a header."""
    for column in sorted({cell.column for cell in cells}):
        here = [cell for cell in cells if cell.column == column]
        others = {cell.column for cell in cells}
        if all(cell.columns > 1 and column + 1 in others for cell in here):
            rows = {cell.row for cell in cells if cell.column == column + 1}
            if not rows & {cell.row for cell in here}:
                for cell in here:
                    cell.column, cell.columns = column + 1, cell.columns - 1
    return cells


def written(cell: Cell, *, is_head: bool) -> tuple[str, str]:
    """Text and Markdown of a cell; a header is bold by itself."""
    found = cell.lines
    if cell.is_list:
        parts = [inline.written(inline.joined([line]), emphasis=not is_head) for line in found]
        return "\n".join(line.text for line in found), "<br>".join(parts)
    rich = inline.joined(found)
    return rich.text, inline.written(rich, emphasis=not is_head)


def cut(piece: Piece, places: Sequence[float]) -> list[Piece]:
    """A piece that runs across these places, as its parts: cut at the spaces nearest to them."""
    parts = [piece]
    for place in places:
        last = parts[-1]
        if not last.x0 + last.size / 2 < place < last.x1 - last.size / 2:
            continue
        step = (last.x1 - last.x0) / max(len(last.text), 1)
        wanted = (place - last.x0) / step
        spaces = [at for at, letter in enumerate(last.text) if letter == " "]
        if not spaces:
            continue
        at = min(spaces, key=lambda space: abs(space - wanted))
        middle = last.x0 + at * step
        flags = last.flags or None
        parts[-1:] = [
            replace(last, text=last.text[:at], x1=middle, flags=flags[:at] if flags else None),
            replace(last, text=last.text[at + 1 :], x0=middle + step, flags=flags[at + 1 :] if flags else None),
        ]
    return parts
