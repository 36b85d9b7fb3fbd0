"""The form at a gate that asks, and the subtasks of a task with links both ways."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import HTMLResponse, Response

from fanfold.engine.client import Client
from fanfold.model.pipelines.gates import asked_by
from fanfold.model.pipelines.options import Option
from fanfold.model.task import Task
from fanfold.server.requests.authentication import Asking, Changing, Looking
from fanfold.server.threads.database_threads import Router, writing
from fanfold.server.web.frame.command_answer import answered
from fanfold.server.web.frame.templating import page
from fanfold.server.web.task.retry_form import MOST_FIELDS, shown

router = Router()
SUBTASKS_SHOWN = 200


def gate_fields(client: Client, task: Task) -> list[tuple[Option, str]]:
    """The options that a person is asked at the gate where the task waits, with the values of their fields."""
    if task.asks is None:
        return []
    row = client.lookup.row(task.id)
    return [(option, shown(option, None)) for option in asked_by(row.plan.stage(task.stage).asks).values()]


@router.post("/tasks/{task_id}/answer")
async def answer(request: Request, client: Looking, _access: Changing, task_id: str) -> Response:
    """Let a task through its gate with the answer of the form."""
    form = await request.form(max_fields=MOST_FIELDS)
    given = {
        field.removeprefix("option:"): value.strip().replace("\r\n", "\n")
        for field, value in form.items()
        if isinstance(value, str) and field.startswith("option:")
    }
    stage = form.get("stage")
    await writing(_resume, client, task_id, given, stage if isinstance(stage, str) else None)
    return answered(request, task_id)


def _resume(client: Client, task_id: str, given: dict[str, str], stage: str | None) -> None:
    """An empty field means that it was not answered: its default counts, or the answer is refused.

    The form says which gate it is of: the task may have come to the next one since the page was shown.
    """
    values: dict[str, Any] = {name: value for name, value in given.items() if value}
    client.resume(task_id, values, stage=stage)


@router.get("/tasks/{task_id}/subtasks")
def subtasks(request: Request, access: Asking, client: Looking, task_id: str) -> HTMLResponse:
    """The subtasks of a task, the newest first."""
    found = client.list(parent=task_id, limit=SUBTASKS_SHOWN)
    return page(request, "_subtasks.html", access, task=client.get(task_id), subtasks=found)
