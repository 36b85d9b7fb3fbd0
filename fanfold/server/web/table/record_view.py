"""The view of one cell: its value, its evidence marked on the picture of the page, alternatives, and decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fanfold.engine.client import Client
from fanfold.engine.take_action import offered
from fanfold.model.pipelines.options import Option
from fanfold.model.task import Task
from fanfold.model.text.sentences import restored
from fanfold.server.app_state import AppState
from fanfold.server.tables.cells import TEXT, Cell, kind_of, state_of
from fanfold.server.tables.table_windows import Tables
from fanfold.server.threads.pictures import draws_pages
from fanfold.server.web.item.decide_form import is_merged
from fanfold.server.web.table.editing import as_text
from fanfold.server.web.task.retry_form import shown as default_of

REDO = "redo"
"""The name of the application's action that asks for a cell again."""
FILLED_IN = {"item": "key", "items": "key", "column": "column", "columns": "column", "field": "column", "row": "row"}
"""Options of that action that the page fills in."""
LEFT_OUT = ("state",)
"""Options that choose among cells: here one cell is chosen already."""
MOST_BOXES = 200


@dataclass(frozen=True)
class ShownEvidence:
    """A quote to show: its page, and its boxes as fractions of the page."""

    quote: str
    text: str
    page: int | None
    line: int | None
    score: float | None
    boxes: tuple[tuple[float, float, float, float], ...]


@dataclass(frozen=True)
class RedoField:
    """An option of the redo: filled in by the page, or entered by a person."""

    option: Option
    value: str
    is_hidden: bool


def complete(cell: Cell) -> Cell:
    """A cell or an alternative, with all data for the view."""
    found = dict.fromkeys(("value", "raw", "reason", "model", "cost", "decision", "before", "part")) | cell
    attempts = cell.get("attempts")
    found |= {"attempts": attempts if isinstance(attempts, int) else 1, "repaired": bool(cell.get("repaired"))}
    return found | {"state": state_of(cell), "reason": _reason(found["reason"], cell.get("said"))}


def _reason(reason: Any, said: Any) -> str | None:
    """The reason, with the code that was kept beside it as ``said``, for the reader's language."""
    try:
        return restored(str(reason), said if isinstance(said, str) else None) if reason else None
    except (ValueError, KeyError, TypeError):
        return str(reason)


def evidence_of(cell: Cell) -> list[ShownEvidence]:
    """The evidence of a cell, read tolerantly: its application may have written anything."""
    found = cell.get("evidence")
    return [_evidence(one) for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _evidence(one: dict[str, Any]) -> ShownEvidence:
    page = one.get("page") if isinstance(one.get("page"), int) else None
    boxes = [box for box in one.get("boxes") or () if isinstance(box, dict) and box.get("page", page) == page]
    return ShownEvidence(
        str(one.get("quote") or ""),
        str(one.get("text") or ""),
        page,
        one.get("line") if isinstance(one.get("line"), int) else None,
        float(one["score"]) if isinstance(one.get("score"), int | float) else None,
        tuple(box for box in map(_box, boxes[:MOST_BOXES]) if box is not None),
    )


def _box(box: dict[str, Any]) -> tuple[float, float, float, float] | None:
    sides = [box.get(name) for name in ("x", "y", "width", "height")]
    numbers = [float(side) for side in sides if isinstance(side, int | float)]
    return (numbers[0], numbers[1], numbers[2], numbers[3]) if len(numbers) == len(sides) else None


def values_of(
    place: AppState, client: Client, task: Task, key: str, number: int, column: str, may_change: bool
) -> dict[str, Any]:
    """The data for the view of a cell."""
    row, cell = Tables(client, place.tables).cell(task.id, key, number, column)
    index = place.tables.of(client.lookup, task.id)
    pipeline = place.pipelines.get(task.pipeline)
    before = cell.get("before") or {}
    kind = kind_of(cell.get("value")) or kind_of(before.get("value")) or index.kinds.get(column) or TEXT
    return {
        "row": row,
        "cell": complete(cell),
        "column": column,
        "stage": index.stage,
        "picture_stage": index.stages[0],
        "has_pages": pipeline is not None and draws_pages(pipeline),
        "evidence": evidence_of(cell),
        "alternatives": [complete(one) for one in cell.get("alternatives") or () if isinstance(one, dict)],
        "evidence_of": evidence_of,
        "as_text": as_text,
        "kind": kind,
        "kind_of": kind_of,
        "may_decide": may_change and bool(cell.get("part")) and is_merged(task, index.stage),
        "redo": redo_of(client, task, {"key": key, "column": column, "row": str(number)}) if may_change else None,
    }


def redo_of(client: Client, task: Task, cell: dict[str, str]) -> list[RedoField] | None:
    """The fields of the application's redo; None if it is not available now."""
    action = next((one for one in offered(client, task) if one.name == REDO), None)
    if action is None:
        return None
    return [
        RedoField(option, cell[FILLED_IN[name]] if name in FILLED_IN else default_of(option, None), name in FILLED_IN)
        for name, option in action.options.items()
        if name not in LEFT_OUT
    ]
