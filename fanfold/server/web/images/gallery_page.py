"""The gallery of a task: every picture as far as it has come, with its state, and why one is missing."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from fanfold.engine.client import Client
from fanfold.model.item import Item
from fanfold.model.lifecycle import ItemState
from fanfold.model.money.credits import EntryKind
from fanfold.model.plan import Kind
from fanfold.model.task import Task
from fanfold.model.views.images import pictures_in
from fanfold.server.requests.authentication import Asking, At, Looking
from fanfold.server.threads.database_threads import Router
from fanfold.server.web.frame.templating import page
from fanfold.server.web.images.item_pictures import VIEW, told
from fanfold.server.web.task.task_header import forms_of

router = Router()
AT_ONCE = 60
"""Pictures on one page."""


@router.get("/tasks/{task_id}/pictures")
def show(
    request: Request,
    access: Asking,
    client: Looking,
    place: At,
    task_id: str,
    after: Annotated[str | None, Query(max_length=1_000)] = None,
) -> Response:
    """The gallery."""
    task = client.get(task_id)
    stages = each_stages(task)
    items = client.items(task.id, stage=stages[0], after=after, limit=AT_ONCE + 1) if stages else []
    more = items[AT_ONCE - 1].key if len(items) > AT_ONCE else None
    shown = [_furthest(client, task, stages, item) for item in items[:AT_ONCE]]
    total = next((one.total for one in task.stages if stages and one.name == stages[0]), 0)
    values: dict[str, Any] = {"shown": shown, "more": more, "total": total, "forms": forms_of(client, task)}
    values["credits"] = _credits(client, task)
    return page(request, "pictures.html", access, task=task, **values)


def _credits(client: Client, task: Task) -> dict[str, int] | None:
    """What the task costs its owner in credits, and what was refunded; None if nothing was charged."""
    booked = client.credits.entries(task=task.id, limit=1_000)
    refunded = sum(one.amount for one in booked if one.kind is EntryKind.REFUND)
    return {"cost": -sum(one.amount for one in booked), "refunded": refunded} if booked else None


def has_gallery(task: Task, view: str) -> bool:
    """Whether a task has a gallery."""
    return view == VIEW and any(stage.total for stage in task.stages if stage.kind == Kind.EACH)


def each_stages(task: Task) -> list[str]:
    """The stages of many items that have been reached, in order."""
    return [stage.name for stage in task.stages if stage.kind == Kind.EACH and stage.total]


def _furthest(client: Client, task: Task, stages: list[str], item: Item) -> dict[str, Any]:
    """An item as far as it has come: the state of its last stage, and the pictures of the last one that has some."""
    last, found = item, None
    for stage in stages:
        known = client.items(task.id, stage=stage, keys=[item.key], limit=1) if stage != stages[0] else [item]
        if not known:
            break
        last = known[0]
        if last.state is ItemState.DONE:
            detail = client.item(task.id, item.key, stage)
            found = told(task, detail) if pictures_in(detail.output) else found
    return {"item": last, "pictures": found}
