"""Applies the rules between fields to the cells of a record. Cells that break a rule become invalid but keep their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fanfold.apps.extract.asking.states import INVALID, Cell
from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.template.rules import Rule

BEFORE = "before_rules"
"""The cell's state and reason before a rule made it invalid, restored if a later template drops the rule."""


def apply_rules(rules: Sequence[Rule], fields: dict[str, Cell], rows: Sequence[dict[str, Cell]]) -> None:
    """Mark the cells that break a rule, and restore the state of cells that no longer break one."""
    for cells in (fields, *rows):
        for name in cells:
            cells[name] = _restored(cells[name])
    for rule in rules:
        if all(name in fields for name in rule.names):
            _apply(rule, fields, fields)
        else:
            for row in rows:
                _apply(rule, {**fields, **row}, row)


def _apply(rule: Rule, known: Mapping[str, Cell], marked: dict[str, Cell]) -> None:
    values = {name: known[name]["value"] for name in rule.names if name in known}
    if len(values) < len(rule.names) or rule.holds(values) is not False:
        return
    told = ", ".join(f"{name} = {value}" for name, value in values.items())
    for name in rule.names:
        if name in marked and marked[name]["state"] != INVALID:
            cell = marked[name]
            before = {"state": cell["state"], "reason": cell["reason"]}
            reason = say_of_extract("rule_broken", rule=rule.text, values=told[:200])
            marked[name] = cell | {"state": INVALID, "reason": reason, BEFORE: before}


def _restored(cell: Cell) -> Cell:
    if BEFORE not in cell:
        return cell
    before: Cell = cell[BEFORE]
    return {name: value for name, value in cell.items() if name != BEFORE} | before
