"""The pages of templates: list them, write and change one, see its versions and the tasks that used it."""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Form, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from fanfold.engine.templates import NOTE_LENGTH
from fanfold.errors import BadInput, BadTemplate, NotFound
from fanfold.model.pipelines.template_kinds import TemplateKind
from fanfold.model.template import Template, check_name
from fanfold.server.app_state import AppState
from fanfold.server.requests.authentication import Access, Asking, At, Changing, Looking, Managing
from fanfold.server.threads.database_threads import Router, making
from fanfold.server.web.frame.templating import page

router = Router()
BODY_LENGTH = 500_000
SHOWN_VERSIONS, SHOWN_TASKS = 50, 100
Kind = Annotated[str, Query(max_length=63)]
Name = Annotated[str, Query(max_length=120)]


def kinds_of(place: AppState) -> dict[str, TemplateKind]:
    """The kinds that the server's pipelines take, by name."""
    return {one.name: one for pipeline in place.pipelines.values() for one in pipeline.template_kinds.values()}


def starts_of(place: AppState, kind: str) -> list[tuple[str, str, str]]:
    """Name, title and option of the pipelines that start a task with a template of this kind."""
    return [
        (pipeline.name, pipeline.title, one.option)
        for pipeline in place.pipelines.values()
        for one in pipeline.template_kinds.values()
        if one.name == kind and one.option in pipeline.declared
    ]


@router.get("/templates")
def listed(request: Request, access: Asking, client: Looking, place: At) -> Response:
    """All templates, by kind."""
    return page(request, "templates.html", access, templates=client.templates.list(), kinds=kinds_of(place))


@router.get("/templates/one")
def one(
    request: Request,
    access: Asking,
    client: Looking,
    place: At,
    kind: Kind,
    name: Name = "",
    version: int | None = None,
) -> Response:
    """A template to read and change; without a name, a new one."""
    found = client.templates.get(kind, name if version is None else f"{name}@{version}") if name else None
    values: dict[str, Any] = {"named": name, "note": "", "problems": [], "text": as_text(found)}
    return _editor(request, access, place, client, kind, values, found)


@router.post("/templates/save")
async def save(
    request: Request,
    access: Changing,
    client: Looking,
    place: At,
    kind: Annotated[str, Form(max_length=63)],
    name: Annotated[str, Form(max_length=200)] = "",
    body: Annotated[str, Form(max_length=BODY_LENGTH)] = "",
    note: Annotated[str, Form(max_length=NOTE_LENGTH)] = "",
) -> Response:
    """Save the template, or show the form again with all its mistakes."""
    name, text = name.strip(), body.replace("\r\n", "\n")
    try:
        check_name(name)
        saved = await making(client.templates.save, kind, name, as_body(text), note=note.strip())
    except BadTemplate as problem:
        problems = list(problem.problems)
    except BadInput as problem:
        problems = [problem.message]
    else:
        return RedirectResponse(f"/templates/one?{urlencode({'kind': kind, 'name': saved.name})}", 303)
    values = {"named": name, "note": note, "problems": problems, "text": text}
    return await run_in_threadpool(_editor, request, access, place, client, kind, values, None)


@router.post("/templates/delete")
def delete(
    client: Looking,
    _access: Managing,
    kind: Annotated[str, Form(max_length=63)],
    name: Annotated[str, Form(max_length=100)],
) -> Response:
    """Delete a template, and return to the list."""
    client.templates.delete(kind, name)
    return RedirectResponse("/templates", 303)


def _editor(
    request: Request,
    access: Access,
    place: AppState,
    client: Any,
    kind: str,
    values: dict[str, Any],
    found: Template | None,
) -> Response:
    name = values["named"]
    try:
        versions = client.templates.versions(kind, name, limit=SHOWN_VERSIONS) if name else []
    except BadInput:
        versions = []
    try:
        known = kinds_of(place).get(kind) or client.templates.kind(kind)
    except NotFound:
        known = TemplateKind(kind)
    return page(
        request,
        "template.html",
        access,
        422 if values["problems"] else 200,
        kind=known,
        found=found,
        versions=versions,
        tasks=client.templates.tasks(kind, name, limit=SHOWN_TASKS) if versions else [],
        starts=starts_of(place, kind),
        note_length=NOTE_LENGTH,
        **values,
    )


def as_body(text: str) -> Any:
    """JSON if it is JSON, otherwise the text, in the notation of the application."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def as_text(template: Template | None) -> str:
    """The body as a person edits it."""
    if template is None:
        return ""
    return template.body if isinstance(template.body, str) else json.dumps(template.body, ensure_ascii=False, indent=2)
