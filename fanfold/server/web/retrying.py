"""Retrying with other options: the application's own fields, filled in with what the task has now."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.datastructures import FormData
from starlette.responses import Response

from fanfold.engine.client import Client
from fanfold.model.task import Task
from fanfold.server.access import Changing, Looking
from fanfold.server.secrets import without_secrets
from fanfold.server.threads import Router, writing
from fanfold.server.web.answering import answered
from fanfold.server.web.words import Words

router = Router()
MOST_FIELDS = 200


@dataclass(frozen=True)
class OptionField:
    """A field of the form: the option's name, what it means, and its value now, as text."""

    name: str
    meaning: str
    value: str


def fields_of(client: Client, task: Task, t: Words) -> list[OptionField]:
    """The options that the task's application has; none where the server does not know the pipeline."""
    pipeline = client.pipelines.get(task.pipeline)
    known = without_secrets(task.options)
    meanings = pipeline.options if pipeline is not None else {}
    return [OptionField(name, t(meaning), as_text(known.get(name))) for name, meaning in meanings.items()]


def as_text(value: Any) -> str:
    """A value as a person writes it."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def as_value(text: str) -> Any:
    """What a person has written: JSON if it is, text otherwise."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@router.post("/tasks/{task_id}/retry-with")
async def retry_with(request: Request, client: Looking, access: Changing, task_id: str) -> Response:
    """Redo what failed with the options of the form; they are checked before anything is changed."""
    form = await request.form(max_fields=MOST_FIELDS)
    await writing(retried, client, task_id, form)
    return answered(request, task_id)


def retried(client: Client, task_id: str, form: FormData) -> None:
    """Retry with the options that are others than before; a field that was emptied means the default."""
    task = client.get(task_id)
    options: dict[str, Any] = {}
    for field in fields_of(client, task, Words("en")):
        said = form.get(f"option:{field.name}")
        text = said.strip() if isinstance(said, str) else field.value
        if text != field.value:
            options[field.name] = as_value(text) if text else None
    client.retry(task.id, options=options or None)
