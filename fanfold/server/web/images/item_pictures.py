"""The pictures on an item's page: before and after, with and without watermark, alternatives. Needs no scripts."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fanfold.engine.client import Client
from fanfold.model.item import ItemDetail
from fanfold.model.plan import Kind
from fanfold.model.task import Task
from fanfold.model.views.images import ALTERNATIVE, UNMARKED, Picture, before_of, facts_of, pictures_in
from fanfold.server.app_state import AppState
from fanfold.server.web.frame.chosen_view import view_of
from fanfold.server.web.table.record_view import redo_of

VIEW = "images"


def picture_values(
    place: AppState, client: Client, task: Task, detail: ItemDetail, *, may_change: bool
) -> dict[str, Any]:
    """What the template of an item's pictures needs; `pictures` is None if it has another view or another shape."""
    if view_of(place.pipelines, task) != VIEW or not pictures_in(detail.output):
        return {"pictures": None}
    redo = redo_of(client, task, {"key": detail.item.key, "column": "", "row": ""}) if may_change else None
    found = told(task, detail)
    return {"pictures": found | {"redo": redo, "steps": steps_of(client, task, detail.item.key, found["facts"])}}


def steps_of(client: Client, task: Task, key: str, facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The stages that an item has passed, each with its state and how long it took.

    The first one took as long as the output says, because waiting for a service is most of it; each later one took from the
    end of the one before.
    """
    steps: list[dict[str, Any]] = []
    before = None
    for stage in (one.name for one in task.stages if one.kind == Kind.EACH and one.total):
        for item in client.items(task.id, stage=stage, keys=[key], limit=1):
            seconds = facts.get("seconds") if before is None else None
            since = before or item.started_at
            if seconds is None and since is not None and item.finished_at is not None:
                seconds = max(0.0, (item.finished_at - since).total_seconds())
            steps.append({"name": stage, "state": item.state.value, "seconds": seconds})
            before = item.finished_at
    return steps


def told(task: Task, detail: ItemDetail) -> dict[str, Any]:
    """The pictures of an item with their addresses, and what is known of them."""
    output = detail.output
    first, *others = pictures_in(output)
    before = before_of(output)
    unmarked = next((one for one in others if one.kind == UNMARKED), None)

    def linked(picture: Picture | None) -> dict[str, Any] | None:
        return None if picture is None else {"picture": picture, "address": address(task.id, detail, picture.number)}

    return {
        "result": linked(first),
        "unmarked": linked(unmarked),
        "before": linked(before),
        "alternatives": [linked(one) for one in others if one.kind == ALTERNATIVE],
        "facts": facts_of(output),
    }


def address(task_id: str, detail: ItemDetail, number: int) -> str:
    """The address of a picture. It has the time of the result, so that a redone picture is not taken from a cache."""
    made = detail.item.finished_at
    query = {"key": detail.item.key, "stage": detail.item.stage, "image": number}
    query |= {"made": int(made.timestamp())} if made else {}
    return f"/api/v1/tasks/{task_id}/items/image?{urlencode(query)}"
