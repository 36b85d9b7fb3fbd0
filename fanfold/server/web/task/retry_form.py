"""The form to retry with other options: the application's fields, filled with the task's current values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.responses import Response

from fanfold.engine.client import Client
from fanfold.errors import BadInput
from fanfold.model.pipelines.options import SECRET, Option
from fanfold.model.plan import Kind
from fanfold.model.task import Task
from fanfold.server.api.submitting import has_secret
from fanfold.server.requests.authentication import At, Changing, Looking
from fanfold.server.requests.hiding import without_secrets
from fanfold.server.threads.database_threads import Router, unlocking, writing
from fanfold.server.web.frame.command_answer import answered
from fanfold.server.web.frame.languages import Words
from fanfold.server.web.task.failures import keys_of

router = Router()
MOST_FIELDS = 200
MARK_LENGTH = 64


@dataclass(frozen=True)
class OptionField:
    """A form field: the option's name, meaning, current value as text, and declaration."""

    name: str
    meaning: str
    value: str
    option: Option | None = None

    def helps(self, code: str) -> bool:
        """Whether the application declares that another value may fix a failure with this code."""
        return self.option is not None and code in self.option.helps

    def said(self, text: str) -> Any:
        """Parse a person's text for this field; a declared option is parsed by its declaration."""
        if not text:
            return None
        return text if self.option is not None else as_value(text)


def fields_of(client: Client, task: Task, t: Words) -> list[OptionField]:
    """The options of the task's application; none if the server does not know the pipeline."""
    pipeline = client.pipelines.get(task.pipeline)
    if pipeline is None:
        return []
    known = without_secrets(task.options)
    if not pipeline.declared:
        return [
            OptionField(name, t.name(meaning), as_text(known.get(name))) for name, meaning in pipeline.options.items()
        ]
    return [
        OptionField(name, t.name(one.help).replace("`", ""), shown(one, known.get(name)), one)
        for name, one in pipeline.declared.items()
        if not one.hidden
    ]


def shown(option: Option, value: Any) -> str:
    """The value of a declared option for its field; empty for a secret."""
    now = option.default if value is None else value
    if option.kind == SECRET:
        return ""
    return ", ".join(map(str, now)) if isinstance(now, list | tuple) else as_text(now)


def as_text(value: Any) -> str:
    """A value as text for editing."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def as_value(text: str) -> Any:
    """Parse as JSON, or return the text unchanged."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@router.post("/tasks/{task_id}/retry-with")
async def retry_with(request: Request, place: At, client: Looking, access: Changing, task_id: str) -> Response:
    """Redo what failed with the options of the form, which are checked before anything changes."""
    form = await request.form(max_fields=MOST_FIELDS)
    said = {
        name.removeprefix("option:"): value
        for name, value in form.items()
        if isinstance(value, str) and name.startswith("option:")
    }
    run = unlocking if has_secret(place, said) else writing
    await run(retried, client, task_id, said, str(form.get("group", ""))[:MARK_LENGTH])
    return answered(request, task_id)


def retried(client: Client, task_id: str, given: dict[str, str], group: str = "") -> None:
    """Retry with the changed options; an emptied field means the default.

    ``group`` limits it to the items that failed for one reason.
    """
    task = client.get(task_id)
    options: dict[str, Any] = {}
    for field in fields_of(client, task, Words("en")):
        text = given.get(field.name, field.value)
        is_secret = field.option is not None and field.option.kind == SECRET
        text = text if is_secret else text.strip().replace("\r\n", "\n")
        if text != field.value:
            options[field.name] = field.said(text)
    stage, keys = keys_of(client, task.id, group) if group else ("", [])
    if group and not keys:
        raise BadInput("These items have been retried already.")
    of_items = any(one.name == stage and one.kind == Kind.EACH for one in task.stages)
    client.retry(task.id, keys if of_items and keys else None, stage=stage or None, options=options or None)
