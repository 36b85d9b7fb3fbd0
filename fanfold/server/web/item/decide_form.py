"""Handles the decision form on an item's page."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import Form
from starlette.responses import RedirectResponse, Response

from fanfold.engine.client import Client
from fanfold.model.decision import DecisionVerdict
from fanfold.model.plan import Kind
from fanfold.model.task import Task
from fanfold.server.requests.authentication import Changing, Looking
from fanfold.server.threads.database_threads import Router

router = Router()
OFFERED_PARTS = 500
VALUE_LENGTH = 1_000_000
Field = Annotated[str, Form(max_length=1_000)]


@router.post("/tasks/{task_id}/item/decide")
def decide(
    client: Looking,
    _access: Changing,
    task_id: str,
    item: Field,
    stage: Field,
    part: Field,
    verdict: Annotated[DecisionVerdict, Form()],
    value: Annotated[str, Form(max_length=VALUE_LENGTH)] = "",
) -> Response:
    """Record the decision and return to the item. An empty value counts only for a replacement."""
    text = value.replace("\r\n", "\n")
    is_meant = bool(text) or verdict is DecisionVerdict.REPLACE
    task = client.decide(task_id, item, part.strip(), verdict, text if is_meant else None, stage=stage)
    return RedirectResponse(f"/tasks/{task.id}/item?{urlencode({'key': item, 'stage': stage})}#fold-decisions", 303)


def is_merged(task: Task, stage: str) -> bool:
    """Whether a merge uses decisions about the items of this stage."""
    nearest = ""
    for one in task.stages:
        if one.kind == Kind.EACH:
            nearest = one.name
        elif one.kind == Kind.MERGE and nearest == stage:
            return True
    return False


def parts_of(client: Client, task: Task, stage: str, item: str) -> list[str]:
    """Parts of an item with past decisions, as choices for the form."""
    found = client.decisions(task.id, stage=stage, item=item, history=True, limit=OFFERED_PARTS)
    return list(dict.fromkeys(one.part for one in found))
