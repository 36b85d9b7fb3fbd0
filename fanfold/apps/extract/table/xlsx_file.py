"""Writes the table as a workbook: values with colours by state, evidence, and problems. Memory stays constant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.apps.extract.table.rows import Cell, Row, problems
from fanfold.apps.extract.table.values import clean, written

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.workbook import Workbook
    from xlsxwriter.worksheet import Worksheet

LONGEST = 32_767
"""Maximum characters in a cell of a workbook."""
_ROWS = 1_048_576
# Comments stay in memory until the end, and a workbook with very many opens slowly. The evidence sheet has all
# evidence.
_MOST_COMMENTS = 20_000
_LONGEST_QUOTE = 1000
_LARGEST_INTEGER = 2**53
_COLOURS = {
    "weak": "#FFF2CC",
    "unsupported": "#F8CBAD",
    "invalid": "#F4B6B6",
    "conflict": "#E4C9F0",
    "edited": "#DDEBF7",
    "approved": "#E2F0D9",
    "absent": "#EDEDED",
}
_EVIDENCE = ("document", "row", "field", "value", "state", "quote", "text", "page", "line", "score", "model", "reason")
_PROBLEMS = ("document", "row", "field", "state", "reason", "value")


def write_xlsx(path: Path, rows: Iterable[Row], columns: Sequence[str], carried: Sequence[str] = ()) -> None:
    """Write a workbook. No text becomes a formula, a link or a number."""
    from xlsxwriter import Workbook

    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
        "nan_inf_to_errors": True,
    }
    with Workbook(str(path), options) as book:
        writer = _Writer(book, columns, carried)
        for row in rows:
            writer.add(row)


class _Sheet:
    """A sheet that continues on a new sheet when it is full."""

    def __init__(self, book: Workbook, name: str, header: Sequence[str], bold: Format) -> None:
        self.book = book
        self.name = name
        self.header = header
        self.bold = bold
        self.sheets = 0
        self._begin()

    def _begin(self) -> None:
        self.sheets += 1
        self.sheet: Worksheet = self.book.add_worksheet(self.name if self.sheets == 1 else f"{self.name} {self.sheets}")
        self.sheet.freeze_panes(1, 1)
        self.sheet.set_column(0, 0, 30)
        self.sheet.set_column(1, max(len(self.header) - 1, 1), 18)
        for column, title in enumerate(self.header):
            self.sheet.write_string(0, column, clean(title)[:LONGEST], self.bold)
        self.row = 1

    def add(self, cells: Iterable[tuple[Any, Format | None]]) -> int:
        """Write a row. Returns its number."""
        if self.row >= _ROWS:
            self._begin()
        for column, (value, style) in enumerate(cells):
            _write(self.sheet, self.row, column, value, style)
        self.row += 1
        return self.row - 1


class _Writer:
    """The three sheets of a workbook."""

    def __init__(self, book: Workbook, columns: Sequence[str], carried: Sequence[str]) -> None:
        self.columns = columns
        self.carried = carried
        bold = book.add_format({"bold": True, "bottom": 1})
        self.styles = {state: book.add_format({"bg_color": colour}) for state, colour in _COLOURS.items()}
        self.values = _Sheet(book, "values", ["document", *carried, *columns, "state", "error"], bold)
        self.evidence = _Sheet(book, "evidence", _EVIDENCE, bold)
        self.problems = _Sheet(book, "problems", _PROBLEMS, bold)
        self.comments = 0

    def add(self, row: Row) -> None:
        """Write a table row to all sheets."""
        fields = row["fields"]
        cells = [(fields[name].get("value"), self._style(fields[name])) if name in fields else (None, None)
                 for name in self.columns]  # fmt: skip
        told: list[tuple[Any, Format | None]] = [(row["columns"].get(name), None) for name in self.carried]
        number = self.values.add([(row["document"], None), *told, *cells, (row["state"], None), (row["error"], None)])
        for column, name in enumerate(self.columns, 1 + len(self.carried)):
            if name in fields:
                self._comment(number, column, fields[name])
                self._add_evidence(row, name, fields[name])
        for problem in problems([row], self.columns):
            self.problems.add((problem[name], None) for name in _PROBLEMS)

    def _style(self, cell: Cell) -> Format | None:
        return self.styles.get(cell["state"])

    def _comment(self, row: int, column: int, cell: Cell) -> None:
        """A comment with the quote and the page, or with the reason why there is none."""
        lines = [f"{cell['state']}: {cell['reason']}"] if cell.get("reason") else []
        for one in cell.get("evidence") or ():
            place = f"p. {one['page']}: " if one.get("page") else ""
            lines.append(f"{place}“{clean(one.get('text') or one['quote'])[:_LONGEST_QUOTE]}”")
        if lines and self.comments < _MOST_COMMENTS:
            self.comments += 1
            self.values.sheet.write_comment(row, column, "\n".join(lines)[:LONGEST], {"x_scale": 2, "y_scale": 1.5})

    def _add_evidence(self, row: Row, name: str, cell: Cell) -> None:
        if cell["state"] == "absent" and not cell.get("evidence"):
            return
        for one in cell.get("evidence") or [{}]:
            told = {
                "document": row["document"],
                "row": row["row"],
                "field": name,
                **{part: cell.get(part) for part in ("value", "state", "model", "reason")},
                **{part: one.get(part) for part in ("quote", "text", "page", "line", "score")},
            }
            self.evidence.add((told[part], self._style(cell) if part == "state" else None) for part in _EVIDENCE)


def _write(sheet: Worksheet, row: int, column: int, value: Any, style: Format | None) -> None:
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value, style)
    elif isinstance(value, int | float) and math.isfinite(value) and abs(value) <= _LARGEST_INTEGER:
        sheet.write_number(row, column, value, style)
    elif value is None:
        if style is not None:
            sheet.write_blank(row, column, None, style)
    else:
        sheet.write_string(row, column, _shortened(written(value)), style)


def _shortened(text: str) -> str:
    """Text that fits into a cell; characters beyond the basic plane count twice."""
    if len(text) * 2 <= LONGEST or len(text.encode("utf-16-le")) // 2 <= LONGEST:
        return text
    return text.encode("utf-16-le")[: 2 * (LONGEST - 1)].decode("utf-16-le", "ignore") + "…"
