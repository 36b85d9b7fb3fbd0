"""Handles the forms of an application's actions, with one field per option."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import Response

from fanfold.engine.client import Client
from fanfold.engine.take_action import find
from fanfold.server.requests.authentication import Changing, Looking
from fanfold.server.threads.database_threads import Router, making
from fanfold.server.web.frame.command_answer import answered
from fanfold.server.web.task.retry_form import MOST_FIELDS, shown

router = Router()


@router.post("/tasks/{task_id}/do/{name}")
async def take(request: Request, client: Looking, _access: Changing, task_id: str, name: str) -> Response:
    """Run an action with the options of the form."""
    form = await request.form(max_fields=MOST_FIELDS)
    given = {field.removeprefix("option:"): value for field, value in form.items() if isinstance(value, str)}
    is_gone = await making(taken, client, task_id, name, given)
    return answered(request, task_id, gone=is_gone)


def taken(client: Client, task_id: str, name: str, given: dict[str, str]) -> bool:
    """Run the action; an empty or unchanged field means the default. Returns whether the task is gone."""
    action = find(client, client.get(task_id), name)
    options: dict[str, Any] = {}
    for field, option in action.options.items():
        text = given.get(field, "").strip().replace("\r\n", "\n")
        if text not in ("", shown(option, None)):
            options[field] = text
    return client.do(task_id, name, options).task is None
