"""The form for new tasks, which also works without scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.responses import RedirectResponse

from fanfold.engine.client import Client
from fanfold.errors import BadInput
from fanfold.model.pipelines.options import FILE, LOCAL, SECRET, Option
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.pipelines.template_kinds import TemplateKind
from fanfold.model.plan import Kind
from fanfold.model.task import Task
from fanfold.model.text.sentences import say
from fanfold.server.api.shapes.task_requests import NewTask
from fanfold.server.api.submitting import checked, has_archive, has_secret, pipeline_of, submitted
from fanfold.server.api.uploading import MOST_FILES
from fanfold.server.app_state import AppState
from fanfold.server.requests.authentication import Access, At, Changing
from fanfold.server.threads.database_threads import Router, unlocking, writing
from fanfold.server.web.frame.languages import Words
from fanfold.server.web.frame.model_choices import all_choices
from fanfold.server.web.task.retry_form import shown

router = Router()
PLAIN = ("provider", "model")
"""Options common to all pipelines, with one field each if the pipeline has them."""
TEMPLATES_SHOWN = 100
FRONT = 3
"""Number of declared options shown beside the files: the first ones without a group."""


@dataclass(frozen=True)
class Offered:
    """A pipeline to choose: its inputs and the meaning of its options."""

    name: str
    title: str
    accepts: tuple[str, ...]
    options: dict[str, str]
    takes_items: bool
    takes_files: bool
    """Whether files can be dropped on it; a pipeline that declares file endings accepts nothing else."""
    takes_together: bool = False
    """Whether all files of an upload become one task."""
    has_local: bool = True
    """Whether it works without a model; if not, the choice of no provider means the default one."""
    front: tuple[tuple[Option, str], ...] = ()
    """Declared options with a field beside the files, and the field values."""
    fields: tuple[tuple[Option, str], ...] = ()
    """Declared options under "More options"."""
    kinds: Mapping[str, TemplateKind] = field(default_factory=dict)
    """The kind of template that an option takes, by its name. "More options" is then open."""

    def meanings(self, t: Words) -> dict[str, str]:
        """Meanings of its options in a language."""
        return {name: t.name(meaning) for name, meaning in self.options.items()}


def offered(place: AppState, client: Client) -> dict[str, Any]:
    """The choices of the form; pipelines for files come first, because files are dropped here."""
    pipelines = sorted(map(_offer, place.pipelines.values()), key=lambda one: not one.accepts)
    services = all_choices() if any("provider" in one.options for one in pipelines) else ()
    models = sorted({service.model for service in services if service.model})
    kinds = {kind.name for one in pipelines for kind in one.kinds.values()}
    templates = {kind: [one.name for one in client.templates.list(kind, limit=TEMPLATES_SHOWN)] for kind in kinds}
    return {"pipelines": pipelines, "services": services, "models": models, "templates": templates}


def _offer(pipeline: Pipeline) -> Offered:
    takes_items = pipeline.plan().stages[0].kind is Kind.EACH
    takes_files = bool(pipeline.accepts) or not (takes_items or pipeline.calls_with_arguments)
    fields = [
        (one, shown(one, None)) for name, one in pipeline.declared.items() if name not in PLAIN and not one.hidden
    ]
    front = [pair for pair in fields if not pair[0].group and pair[0].kind not in (SECRET, FILE)][:FRONT]
    more = [pair for pair in fields if pair not in front]
    return Offered(
        pipeline.name,
        pipeline.title,
        pipeline.accepts,
        pipeline.options,
        takes_items,
        takes_files,
        pipeline.item_maker is not None,
        _has_local(pipeline),
        tuple(front),
        tuple(more),
        {kind.option: kind for kind in pipeline.template_kinds.values() if kind.option},
    )


def _start(text: str) -> dict[str, Any]:
    """When the task starts. A browser without scripts sends no zone: then it is the server's time."""
    try:
        return {"run_at": datetime.fromisoformat(text).astimezone()} if text else {}
    except (ValueError, OverflowError):
        raise BadInput(say("run_at_aware", value=text[:50])) from None


def _has_local(pipeline: Pipeline) -> bool:
    """Whether the pipeline works without a model. One that does not declare its provider decides by itself."""
    provider = pipeline.declared.get("provider")
    return provider is None or provider.default == LOCAL


@router.post("/submit")
async def submit(request: Request, place: At, access: Changing) -> RedirectResponse:
    """Submit the plain form: one task per file, one for all files if the pipeline makes items of them, or one for the values."""
    form = await request.form(max_files=MOST_FILES, max_fields=100)
    try:
        secret = any(has_secret(place, {name.rpartition(":")[2]: value}) for name, value in form.multi_items())
        files = [file.filename for file in form.getlist("file") if isinstance(file, UploadFile)]
        is_slow = secret or has_archive(place, _text(form, "pipeline"), files)
        tasks = await (unlocking if is_slow else writing)(submit_form, place, access, form)
    finally:
        await form.close()
    return RedirectResponse(f"/tasks/{tasks[0].id}" if len(tasks) == 1 else "/", 303)


def submit_form(place: AppState, access: Access, form: FormData) -> list[Task]:
    """Submit the tasks of a form."""
    pipeline = pipeline_of(place, _text(form, "pipeline"))
    known = {"pipeline": pipeline.name, "options": options_of(pipeline, form), "budget": _text(form, "budget") or None}
    sample = _text(form, "sample")
    wanted = checked(known | ({"sample": _value(sample)} if sample else {}) | _start(_text(form, "run_at")))
    files = [file for file in form.getlist("file") if isinstance(file, UploadFile) and file.filename]
    if pipeline.accepts and not files:
        raise BadInput(say("choose_file", pipeline=pipeline.title))
    client = place.client(access.owner, access.name)
    if not files:
        return [submitted(place, access, client, with_values(pipeline, wanted, _text(form, "values")), [])[0]]
    if pipeline.item_maker is not None:
        return [submitted(place, access, client, wanted, files)[0]]
    return [submitted(place, access, client, wanted, [file])[0] for file in files]


def with_values(pipeline: Pipeline, wanted: NewTask, text: str) -> NewTask:
    """The JSON text as items or inputs, depending on the pipeline's first stage."""
    try:
        value = json.loads(text) if text.strip() else []
    except (ValueError, RecursionError):
        raise BadInput(say("text_not_json", text=text.strip()[:100])) from None
    values = value if isinstance(value, list) else [value]
    name = "items" if pipeline.plan().stages[0].kind is Kind.EACH else "inputs"
    return checked(wanted.model_dump(exclude_unset=True) | {name: values})


def options_of(pipeline: Pipeline, form: FormData) -> dict[str, Any]:
    """The options from their fields, overridden by NAME=VALUE lines."""
    known = {name: _text(form, name) for name in PLAIN if name in pipeline.options}
    if not _has_local(pipeline) and known.get("provider") == LOCAL:
        del known["provider"]
    found: dict[str, Any] = {name: value for name, value in known.items() if value}
    if pipeline.declared:
        return found | declared_of(pipeline, form)
    for line in _text(form, "more").splitlines():
        name, equals, value = line.partition("=")
        if not line.strip():
            continue
        if not equals or not name.strip():
            raise BadInput(f"'{line.strip()[:100]}' is not an option. Write one per line: NAME=VALUE")
        found[name.strip()] = _value(value.strip())
    return found


def declared_of(pipeline: Pipeline, form: FormData) -> dict[str, Any]:
    """The declared options from their fields, without unchanged ones."""
    found: dict[str, Any] = {}
    for name, option in pipeline.declared.items():
        said = form.get(f"option:{pipeline.name}:{name}")
        if isinstance(said, str) and said.replace("\r\n", "\n") not in ("", shown(option, None)):
            found[name] = said
    return found


def _value(text: str) -> Any:
    """Parse as JSON, or return the text unchanged."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text(form: FormData, name: str) -> str:
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""
