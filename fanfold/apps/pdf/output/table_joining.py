"""Joins a table that continues on the next page: with the same header again, or with rows alone that are like its own."""

from __future__ import annotations

import re

_CELLS = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\|(?:\s*:?-{3,}:?\s*\|)+")
_FIGURE = re.compile(r"[(\-–+]?\s*[$€£¥]?\s*\d[\d.,' ]*\s*[%)]?")
# A column of figures has this share of them; one row tells nothing.
_MOSTLY = 0.8
_LEAST_ROWS = 2

Table = list[str]
"""The lines of a table in Markdown: its header, a rule, and its rows."""


def join_tables(before: str, after: str) -> tuple[str, str]:
    """Move a table at the start of a page to the end of the page before, if that ends with the same table."""
    head, last = _last_table(before)
    first, rest = _first_table(after)
    if not last or not first or last[1].count("|") != first[1].count("|"):
        return before, after
    if _cells(last[0]) == _cells(first[0]) and any(_cells(last[0])):
        return "\n".join([*head, *last, *first[2:]]), rest
    if _is_row(_cells(first[0]), last):
        return "\n".join([*head, *last, first[0], *first[2:]]), rest
    return before, after


def _last_table(page: str) -> tuple[list[str], Table]:
    """The lines before the table at the end of a page, and those of the table; it is empty if there is none."""
    lines = page.rstrip().split("\n")
    start = len(lines)
    while start and lines[start - 1].startswith("|"):
        start -= 1
    return lines[:start], _checked(lines[start:])


def _first_table(page: str) -> tuple[Table, str]:
    """The lines of the table at the start of a page, and what follows it."""
    lines = page.lstrip("\n").split("\n")
    end = next((at for at, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return _checked(lines[:end]), "\n".join(lines[end:]).lstrip("\n")


def _checked(lines: list[str]) -> Table:
    return lines if len(lines) > 1 and _RULE.fullmatch(lines[1]) else []


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _CELLS.split(line)[1:-1]]


def _is_row(cells: list[str], table: Table) -> bool:
    """Whether cells are a row of a table and no header: figures where it has figures, in one column at least."""
    rows = [_cells(line) for line in table[2:]]
    if len(rows) < _LEAST_ROWS:
        return False
    columns = [[row[at] for row in rows if row[at]] for at in range(len(cells))]
    figures = [_share(column) >= _MOSTLY for column in columns]
    told = [bool(_FIGURE.fullmatch(cell)) for cell, is_figure in zip(cells, figures, strict=True) if is_figure and cell]
    return any(told) and all(told) and not all(map(_FIGURE.fullmatch, filter(None, _cells(table[0]))))


def _share(column: list[str]) -> float:
    return sum(_FIGURE.fullmatch(cell) is not None for cell in column) / len(column) if column else 0.0
