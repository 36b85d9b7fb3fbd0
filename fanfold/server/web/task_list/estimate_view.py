"""Shows what a new task would cost, in the form that starts it."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import HTMLResponse

from fanfold.server.api.money.estimates import estimated
from fanfold.server.api.submitting import read_submission
from fanfold.server.api.uploading import close
from fanfold.server.requests.authentication import At, Changing, Looking
from fanfold.server.threads.database_threads import Router, unlocking
from fanfold.server.web.frame.languages import Words, language_of
from fanfold.server.web.frame.templating import fragment

router = Router()


@router.post("/estimate")
async def estimate(request: Request, place: At, access: Changing, client: Looking) -> HTMLResponse:
    """The estimate as a fragment of the page, in the reader's language."""
    wanted, uploads = await read_submission(request, place, None)
    try:
        made = await unlocking(estimated, place, client, wanted, uploads)
    finally:
        await close(uploads)
    return HTMLResponse(fragment("_estimate.html", Words(language_of(request)), made=made))
