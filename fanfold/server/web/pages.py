"""Collects the routes of the pages, the static files and the error page."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from fanfold.errors import FanfoldError
from fanfold.server.requests.authentication import Access, access_of
from fanfold.server.web import costs_page as costs
from fanfold.server.web import credit_pages as credits
from fanfold.server.web import login_page as login
from fanfold.server.web import operating_pages as operating
from fanfold.server.web import schedule_pages as schedules
from fanfold.server.web import template_pages as templates
from fanfold.server.web import webhook_pages as webhooks
from fanfold.server.web.changes import changes_page as changes
from fanfold.server.web.frame.languages import Words, language_of
from fanfold.server.web.frame.static_files import STATIC, KeptFiles
from fanfold.server.web.frame.templating import here, page
from fanfold.server.web.images import gallery_page as gallery
from fanfold.server.web.item import decide_form
from fanfold.server.web.item import item_view as preview
from fanfold.server.web.table import table_page as table
from fanfold.server.web.task import task_page as task
from fanfold.server.web.task_list import estimate_view as estimating
from fanfold.server.web.task_list import list_page as listing

MODULES = (
    listing,
    estimating,
    table,
    changes,
    gallery,
    task,
    preview,
    decide_form,
    costs,
    credits,
    templates,
    schedules,
    webhooks,
    operating,
    login,
)
router = APIRouter()
for module in MODULES:
    router.include_router(module.router)


def static_files() -> KeptFiles:
    """Scripts, styles and images of the pages."""
    return KeptFiles(STATIC)


async def tell_error(request: Request, status: int, code: str, detail: str) -> Response:
    """Show an error to a person; a caller without a valid token is sent to the login page."""
    if status == 401:
        return RedirectResponse(f"/login?{urlencode({'next': here(request)})}", 303)
    # Rendered in a thread, because the frame of the page may also query the database.
    return await run_in_threadpool(error_page, request, status, code, detail)


def speak(request: Request, detail: str) -> str:
    """The error message in the reader's language."""
    return Words(language_of(request)).sentence(detail)


def error_page(request: Request, status: int, code: str, detail: str) -> Response:
    """The error page; for database problems it reloads itself."""
    passing = status == 503 and request.method == "GET"
    return page(request, "error.html", known(request), status, code=code, detail=detail, passing=passing)


def known(request: Request) -> Access | None:
    """The caller if known despite the error, so that the error page keeps its frame."""
    try:
        return access_of(request)
    except FanfoldError:
        return None
