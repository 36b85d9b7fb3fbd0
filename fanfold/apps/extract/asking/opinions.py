"""Compares the cells of a record with those of a second model: agreement is noted, anything else is a conflict."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fanfold.apps.extract.asking.reducing import is_same, with_alternatives
from fanfold.apps.extract.asking.states import CONFLICT, Cell
from fanfold.apps.extract.sentences import say_of_extract

Cells = dict[str, Cell]


def compared(cell: Cell, second: Cell) -> Cell:
    """The cell with a second opinion."""
    agrees = is_same(cell["value"], second["value"])
    model = second["model"] or ""
    said = second | {"reason": say_of_extract("second_agrees", model=model) if agrees else second["reason"]}
    made = with_alternatives(cell, [said])
    if agrees:
        return made | {"agreed": [*cell.get("agreed", ()), model]}
    return made | {"state": CONFLICT, "reason": say_of_extract("second_differs", model=model)}


def compared_rows(rows: Sequence[Cells], second: Sequence[Cells], names: Collection[str], model: str) -> list[Cells]:
    """The rows with a second opinion on the named cells. A row that only one of the models gives is a conflict.

    Rows of the second model alone are added behind the others.
    """
    pairs = _paired(rows, second)
    made = [
        _alone(row, names, say_of_extract("second_without_row", model=model))
        if at is None
        else row | {name: compared(row[name], second[at][name]) for name in names}
        for row, at in zip(rows, pairs, strict=True)
    ]
    added = (row for at, row in enumerate(second) if at not in pairs)
    return made + [_alone(row, tuple(row), say_of_extract("second_row", model=model)) for row in added]


def _alone(row: Cells, names: Collection[str], reason: str) -> Cells:
    """A row that one model gives. Its empty cells are not in conflict."""
    valued = [name for name in names if row[name]["value"] is not None]
    return row | {name: row[name] | {"state": CONFLICT, "reason": reason} for name in valued}


def _paired(rows: Sequence[Cells], second: Sequence[Cells]) -> list[int | None]:
    """For each row, the row of the second model that is about the same thing: the one with the most equal values.

    Rows without an equal value are paired in order if both models have the same number of them.
    """
    ranked = sorted(
        (-_equal(row, other), abs(number - at), number, at)
        for number, row in enumerate(rows)
        for at, other in enumerate(second)
        if _equal(row, other)
    )
    pairs: list[int | None] = [None] * len(rows)
    for _, _, number, at in ranked:
        if pairs[number] is None and at not in pairs:
            pairs[number] = at
    left = [number for number, at in enumerate(pairs) if at is None]
    others = [at for at in range(len(second)) if at not in pairs]
    if len(left) == len(others):
        for number, at in zip(left, others, strict=True):
            pairs[number] = at
    return pairs


def _equal(row: Cells, other: Cells) -> int:
    return sum(row[name]["value"] is not None and is_same(row[name]["value"], other[name]["value"]) for name in row)
