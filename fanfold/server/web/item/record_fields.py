"""The fields of a record on an item's page, and the selected field with its evidence. Needs no scripts."""

from __future__ import annotations

from typing import Any

from fanfold.engine.client import Client
from fanfold.model.item import ItemDetail
from fanfold.model.task import Task
from fanfold.server.app_state import AppState
from fanfold.server.tables.cells import is_record
from fanfold.server.tables.table_windows import Tables
from fanfold.server.web.frame.chosen_view import view_of
from fanfold.server.web.table.record_view import values_of

VIEWS = ("record", "table")


def record_values(
    place: AppState, client: Client, task: Task, detail: ItemDetail, chosen: tuple[int, str], may_change: bool
) -> dict[str, Any]:
    """The rows of the item's record; empty if it has another view or its output has another shape."""
    view, (row, column) = view_of(place.pipelines, task), chosen
    if view not in VIEWS or not is_record(detail.output):
        return {"record": [], "chosen": None}
    rows = Tables(client, place.tables).record(task.id, detail.item.key)
    known = next((one for one in rows if one["row"] == row and column in one["fields"]), None)
    opened = values_of(place, client, task, detail.item.key, row, column, may_change) if known is not None else None
    return {"record": rows, "chosen": opened, "in_table": view == "table"}
