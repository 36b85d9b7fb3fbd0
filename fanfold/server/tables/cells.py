"""The shapes of cells and records. Reading tolerates any application output, so that nothing can break the table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from fanfold.model.decision import Decision, DecisionVerdict

OK, WEAK, UNSUPPORTED, INVALID, ABSENT, CONFLICT = "ok", "weak", "unsupported", "invalid", "absent", "conflict"
EDITED, APPROVED = "edited", "approved"
STATES = (OK, WEAK, UNSUPPORTED, INVALID, ABSENT, CONFLICT, EDITED, APPROVED)
"""The states of a cell, in the order in which they are counted."""
PROBLEMS = (WEAK, UNSUPPORTED, INVALID, CONFLICT)
REVIEWED = (EDITED, APPROVED)
BRIEF_LENGTH = 200
TEXT, NUMBER, FLAG, JSON = "text", "number", "flag", "json"
"""The kinds of values."""
Cell = dict[str, Any]


@dataclass(frozen=True)
class RecordRow:
    """One row of a record: a document, or a row inside it."""

    document: str
    source: str
    columns: Mapping[str, Any]
    cells: Mapping[str, Cell]


def is_record(output: Any) -> TypeGuard[dict[str, Any]]:
    """Whether an output has the shape of a record."""
    return isinstance(output, dict) and isinstance(output.get("fields"), dict) and _are_cells(output["fields"])


def _are_cells(fields: Mapping[str, Any]) -> bool:
    return all(isinstance(cell, dict) and "value" in cell for cell in fields.values())


def columns_of(record: Mapping[str, Any]) -> list[str]:
    """The columns of a record in order: those that it lists, then any others."""
    named = [str(name) for name in record.get("columns") or ()]
    inner = [name for row in rows_in(record) for name in row]
    return list(dict.fromkeys([*named, *record.get("fields", {}), *inner]))


def rows_in(record: Mapping[str, Any]) -> list[dict[str, Cell]]:
    """The cells of each row inside a document; none if the document is one row."""
    found = record.get("rows")
    rows = [one.get("fields") for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return [row for row in rows if isinstance(row, dict) and _are_cells(row)]


def record_rows(record: Mapping[str, Any], name: str) -> list[RecordRow]:
    """The rows of a record. If a file was given several times, its rows appear several times."""
    sources = sources_in(record.get("document"), name)
    fields = record["fields"]
    inner = rows_in(record) or [{}]
    return [RecordRow(*source, fields | cells) for source in sources for cells in inner]


def sources_in(told: Any, name: str) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Name, source and carried columns of each occurrence of a document."""
    if not isinstance(told, dict):
        return [(name, "", {})]
    own = str(told.get("name") or name)
    rows = told.get("rows")
    found = [
        (str(row.get("name") or own), str(row.get("source") or ""), row.get("columns") or {})
        for row in (rows if isinstance(rows, list) else ())
        if isinstance(row, dict)
    ]
    return found or [(own, "", {})]


def state_of(cell: Cell, decision: Decision | None = None) -> str:
    """The state of a cell, with people's decisions applied."""
    if decision is not None and decision.verdict is DecisionVerdict.ACCEPT:
        return APPROVED
    if decision is not None and decision.verdict is DecisionVerdict.REPLACE:
        return EDITED
    state = cell.get("state")
    return state if state in STATES else (ABSENT if cell.get("value") is None else OK)


def decided(cell: Cell, decision: Decision | None) -> Cell:
    """The cell with a person's decision applied: `decision` has who and when, `before` the application's own value."""
    found = cell | {"state": state_of(cell, decision)}
    if decision is None:
        return found
    told = {"verdict": decision.verdict.value, "value": decision.value, "actor": decision.actor, "at": decision.at}
    found |= {"decision": told, "before": {"value": cell.get("value"), "state": state_of(cell)}}
    return found | {"value": decision.value} if decision.verdict is DecisionVerdict.REPLACE else found


def brief(cell: Cell) -> Cell:
    """The part of a cell that a grid shows."""
    return {"value": shortened(cell.get("value")), "state": cell.get("state"), "part": cell.get("part")}


def shortened(value: Any) -> Any:
    """A value as a grid shows it: only the beginning of long text and nested values."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= BRIEF_LENGTH else text[:BRIEF_LENGTH] + "…"


def kind_of(value: Any) -> str | None:
    """The kind of a value; None for an empty value, which may be of any kind."""
    if value is None:
        return None
    if isinstance(value, bool):
        return FLAG
    if isinstance(value, int | float):
        return NUMBER
    return TEXT if isinstance(value, str) else JSON
