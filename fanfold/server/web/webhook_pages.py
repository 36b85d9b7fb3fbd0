"""The page of webhooks: list them, add one, test or remove it. For admins."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Form, Request
from starlette.responses import RedirectResponse, Response

from fanfold.engine.webhooks.notices import EVENTS, KNOWN
from fanfold.errors import FanfoldError
from fanfold.server.requests.authentication import Access, Looking, Managing
from fanfold.server.threads.database_threads import Router
from fanfold.server.web.frame.templating import page

router = Router()


@router.get("/webhooks")
def listed(request: Request, access: Managing, client: Looking) -> Response:
    """All webhooks, and a form for a new one."""
    return _page(request, access, client)


@router.post("/webhooks/add")
def add(
    request: Request,
    access: Managing,
    client: Looking,
    name: Annotated[str, Form(max_length=100)] = "",
    url: Annotated[str, Form(max_length=2_000)] = "",
    events: Annotated[list[str], Form()] = [],  # noqa: B006
) -> Response:
    """Add the webhook, or show the form again with what is wrong."""
    try:
        client.webhooks.add(name.strip(), url.strip(), events=events or EVENTS)
    except FanfoldError as problem:
        return _page(request, access, client, problem.message, {"name": name, "url": url, "events": events})
    return RedirectResponse("/webhooks", 303)


@router.post("/webhooks/{name}/test")
def send_test(client: Looking, _access: Managing, name: str) -> Response:
    """Deliver a test, and show its task."""
    return RedirectResponse(f"/tasks/{client.webhooks.test(name).id}", 303)


@router.post("/webhooks/{name}/remove")
def remove(client: Looking, _access: Managing, name: str) -> Response:
    """Remove a webhook."""
    client.webhooks.remove(name)
    return RedirectResponse("/webhooks", 303)


def _page(
    request: Request, access: Access, client: Any, problem: str | None = None, given: dict[str, Any] | None = None
) -> Response:
    given = {"name": "", "url": "", "events": list(EVENTS), **(given or {})}
    status, hooks = 422 if problem else 200, client.webhooks.list()
    return page(request, "webhooks.html", access, status, webhooks=hooks, events=KNOWN, problem=problem, given=given)
