"""The answer to a command of a page: nothing for a script, the page to go on with for a plain form."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import RedirectResponse, Response


def answered(request: Request, task_id: str, *, gone: bool = False) -> Response:
    """Nothing to show for a script, which sees the change by itself; for a plain form the page to go on with."""
    if "hx-request" in request.headers:
        return Response(status_code=204, headers={"hx-trigger": "fanfold:changed"})
    return RedirectResponse("/" if gone else f"/tasks/{task_id}", 303)
