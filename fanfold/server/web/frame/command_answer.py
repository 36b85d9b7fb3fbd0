"""The response to a page's command: empty for a script, a redirect for a plain form."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import RedirectResponse, Response


def answered(request: Request, task_id: str, *, gone: bool = False) -> Response:
    """An empty response for a script, which gets the change by stream; a redirect to the next page for a plain form."""
    if "hx-request" in request.headers:
        return Response(status_code=204, headers={"hx-trigger": "fanfold:changed"})
    return RedirectResponse("/" if gone else f"/tasks/{task_id}", 303)
