"""Reduces the cells from all windows of a document to one cell per field, by the field's `reduce` rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import fanfold as ff
from fanfold.apps.extract.asking.states import ABSENT, CONFLICT, INVALID, OK, UNSUPPORTED, WEAK, Cell
from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.template.check import fold
from fanfold.apps.extract.template.fields import FIRST, SUM, UNION, Field

ORDER = (OK, WEAK, UNSUPPORTED, INVALID, ABSENT)
"""States from the best to the worst."""
MOST_ALTERNATIVES = 10


def reduced(field: Field, cells: Sequence[Cell]) -> Cell:
    """Reduce the cells of all windows to one. Other values become alternatives; equally good values are a conflict."""
    valued = [cell for cell in cells if cell["value"] is not None]
    if not valued:
        # An invalid answer says more than an absent one.
        return min(cells, key=lambda cell: ORDER.index(cell["state"]))
    if field.reduce == UNION:
        return _union(field, valued)
    distinct = _distinct(valued)
    if len(distinct) == 1:
        return distinct[0]
    if field.reduce == SUM:
        return _sum(field, distinct)
    best = distinct[0] if field.reduce == FIRST else min(distinct, key=_rank)
    others = [one for one in distinct if one is not best]
    made = with_alternatives(best, others)
    if field.reduce != FIRST and any(one["state"] == best["state"] for one in others):
        return made | {"state": CONFLICT, "reason": say_of_extract("windows_differ", count=len(distinct))}
    return made


def with_alternatives(cell: Cell, others: Sequence[Cell]) -> Cell:
    """The cell with its alternatives."""
    known = [*cell["alternatives"], *map(alternative, others)]
    return cell | {"alternatives": known[:MOST_ALTERNATIVES]}


def alternative(cell: Cell) -> dict[str, Any]:
    """A cell in the form of an alternative."""
    known = {name: cell[name] for name in ("value", "state", "evidence", "model", "reason")}
    return known | ({"said": cell["said"]} if "said" in cell else {})


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, ignoring case and spacing of texts and the order of lists."""
    return bool(_comparable(one) == _comparable(other))


def _comparable(value: Any) -> Any:
    if isinstance(value, str):
        return fold(value).rstrip(".")
    if isinstance(value, list):
        return sorted(map(str, map(_comparable, value)))
    return value


def _rank(cell: Cell) -> tuple[int, float]:
    score = max((place["score"] for place in cell["evidence"]), default=0.0)
    return ORDER.index(cell["state"]), -score


def _distinct(cells: Sequence[Cell]) -> list[Cell]:
    """One cell per distinct value, the best supported one, in window order."""
    kept: list[Cell] = []
    for cell in cells:
        at = next((at for at, one in enumerate(kept) if is_same(one["value"], cell["value"])), None)
        if at is None:
            kept.append(cell)
        elif _rank(cell) < _rank(kept[at]):
            kept[at] = cell
    return kept


def _union(field: Field, cells: Sequence[Cell]) -> Cell:
    """The union of all lists, with all evidence. Its state is the worst state of any list."""
    members: list[Any] = []
    for cell in cells:
        members += [one for one in cell["value"] if not any(is_same(one, other) for other in members)]
    worst = max(cells, key=lambda cell: ORDER.index(cell["state"]))
    return _joined(field, worst, cells, members)


def _sum(field: Field, cells: Sequence[Cell]) -> Cell:
    """The sum of the values at distinct places: windows overlap, and a value must not be counted twice."""
    seen: set[tuple[int, int]] = set()
    counted = []
    for cell in cells:
        place = next(((one["start"], one["end"]) for one in cell["evidence"]), None)
        if place is None or place not in seen:
            counted.append(cell)
        if place is not None:
            seen.add(place)
    worst = max(counted, key=lambda cell: ORDER.index(cell["state"]))
    return _joined(field, worst, counted, sum(cell["value"] for cell in counted))


def _joined(field: Field, base: Cell, cells: Sequence[Cell], value: Any) -> Cell:
    evidence = [place for cell in cells for place in cell["evidence"]]
    quotes = [place["quote"] for place in evidence]
    return base | {
        "value": value,
        "evidence": evidence,
        "raw": None,
        "part": ff.part_key(field.name, value, quotes),
        "repaired": any(cell["repaired"] for cell in cells),
    }
