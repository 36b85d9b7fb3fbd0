"""The page of one task, and the parts of it that are loaded on demand."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from fanfold.engine.queries.web_queries import WebQueries
from fanfold.errors import NotFound
from fanfold.model.lifecycle import ItemState
from fanfold.model.task import Task
from fanfold.model.text.sentences import say
from fanfold.model.values.files import File
from fanfold.server.api.shapes.json_values import file_url
from fanfold.server.changes.change_windows import shows_changes
from fanfold.server.requests.authentication import Asking, At, Looking
from fanfold.server.requests.hiding import without_secrets
from fanfold.server.tables.table_windows import has_table
from fanfold.server.watching.snapshots import seconds_left
from fanfold.server.web.frame.chosen_view import view_of
from fanfold.server.web.frame.languages import Words, language_of
from fanfold.server.web.frame.model_choices import choices
from fanfold.server.web.frame.positions import in_runs
from fanfold.server.web.frame.templating import page
from fanfold.server.web.images.gallery_page import has_gallery
from fanfold.server.web.task import action_form as actions
from fanfold.server.web.task import command_routes as steering
from fanfold.server.web.task import gate_form as gates
from fanfold.server.web.task import page_stream as watching
from fanfold.server.web.task import result_view as outcome
from fanfold.server.web.task import retry_form as retrying
from fanfold.server.web.task.task_fragments import ShownTask, failures_html, head_html
from fanfold.server.web.task.timeline import drawn

router = APIRouter()
router.include_router(watching.router)
router.include_router(retrying.router)
router.include_router(actions.router)
router.include_router(gates.router)
router.include_router(steering.router)
EVENTS = 100
CALLS = 200
LISTED = 100
Position = Annotated[int, Query(ge=0, le=1_000_000_000)]
Stage = Annotated[str | None, Query(max_length=100)]


@router.get("/tasks/{task_id}")
def show(request: Request, access: Asking, client: Looking, place: At, task_id: str, stage: Stage = None) -> Response:
    """The page of one task."""
    task = client.get(task_id)
    cells = WebQueries(client.lookup).cells(task.id, stage)
    shown = ShownTask(place, client, Words(language_of(request)), task, access.may_change, seconds_left(task))
    latest = WebQueries(client.lookup).latest_events(task.id, limit=1)
    return page(
        request,
        "task.html",
        access,
        task=task,
        cells=cells,
        runs=in_runs(cells.letters),
        head=head_html(shown),
        failures=failures_html(shown),
        choices=choices(place, task) if access.may_change else (),
        newest=latest[0].id if latest else 0,
        has_changes=shows_changes(task, view_of(place.pipelines, task)),
        has_gallery=has_gallery(task, view_of(place.pipelines, task)),
        has_table=has_table(task, view_of(place.pipelines, task)),
        answers=client.answers(task.id),
        **facts(task),
    )


def facts(task: Task) -> dict[str, Any]:
    """What was given when the task was submitted."""
    return {
        "options": without_secrets(task.options),
        "metadata": without_secrets(task.metadata),
        "inputs": [
            (value.name, value.size, file_url(value, task.id))
            if isinstance(value, File)
            else (outcome.as_text(without_secrets(value), task.id), None, None)
            for value in task.inputs
        ],
    }


@router.get("/tasks/{task_id}/cells")
def cells(client: Looking, task_id: str, stage: Stage = None) -> JSONResponse:
    """All cells of a stage."""
    found = WebQueries(client.lookup).cells(task_id, stage)
    return JSONResponse(
        {"stage": found.stage, "total": found.total, "width": found.width, "all": in_runs(found.letters)}
    )


@router.get("/tasks/{task_id}/cell")
def cell(
    request: Request,
    access: Asking,
    client: Looking,
    task_id: str,
    position: Position,
    stage: str,
    width: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> HTMLResponse:
    """Tooltip of a cell: its item, or counts by state if the cell stands for several items."""
    items = WebQueries(client.lookup).items_from(task_id, stage, position * width, min(width, 500))
    items = [item for item in items if item.seq <= (position + 1) * width]
    if not items:
        raise NotFound(say("no_position", task=task_id, position=position + 1, stage=stage))
    counts = {state: n for state in ItemState if (n := sum(item.state == state for item in items))}
    words = {item.state: item.word for item in items}
    return page(request, "_cell.html", access, items=items, counts=counts, item_words=words)


@router.get("/tasks/{task_id}/items")
def listed(
    request: Request,
    access: Asking,
    client: Looking,
    task_id: str,
    stage: Stage = None,
    state: Annotated[ItemState | None, Query()] = None,
    after: Annotated[str | None, Query(max_length=1_000)] = None,
    position: Position = 0,
    degraded: bool = False,
) -> HTMLResponse:
    """The items as a paged table that needs no scripts."""
    task = client.get(task_id)
    name = stage or WebQueries(client.lookup).cells(task.id).stage
    if position and after is None:
        before = WebQueries(client.lookup).items_from(task.id, name, position - 1)
        after = before[0].key if before else None
    states = [state] if state else []
    items = client.items(task.id, stage=name, states=states, degraded=degraded or None, after=after, limit=LISTED + 1)
    more = items[LISTED - 1].key if len(items) > LISTED else None
    counts = next((one.counts for one in task.stages if one.name == name), {})
    values: dict[str, Any] = {
        "stage": name,
        "state": state,
        "degraded": degraded,
        "after": after,
        "more": more,
        "counts": counts,
        "states": list(ItemState),
    }
    return page(request, "items.html", access, task=task, items=items[:LISTED], **values)


@router.get("/tasks/{task_id}/timeline")
def timeline(request: Request, access: Asking, client: Looking, task_id: str) -> HTMLResponse:
    """The timeline as a drawing."""
    task = client.get(task_id)
    kept = WebQueries(client.lookup).timeline(task.id)
    return page(request, "_timeline.html", access, task=task, timeline=kept, drawing=drawn(kept, task.finished_at))


@router.get("/tasks/{task_id}/events")
def events(
    request: Request,
    access: Asking,
    client: Looking,
    task_id: str,
    before: Annotated[int | None, Query(ge=0, le=2**62)] = None,
) -> HTMLResponse:
    """The latest events, or those before a given one, newest first."""
    task = client.get(task_id)
    found = WebQueries(client.lookup).latest_events(task.id, before, EVENTS + 1)
    older = found[EVENTS - 1].id if len(found) > EVENTS else None
    name = "_events_page.html" if before is None else "_events_older.html"
    return page(request, name, access, task=task, events=found[:EVENTS], older=older)


@router.get("/tasks/{task_id}/calls")
def calls(request: Request, access: Asking, client: Looking, task_id: str) -> HTMLResponse:
    """The model calls and their cost."""
    task = client.get(task_id)
    made = client.calls(task.id, limit=CALLS)
    total = task.spending.calls + task.spending.cached
    return page(request, "_calls.html", access, task=task, calls=made[::-1], total=total)


@router.get("/tasks/{task_id}/result")
def result(
    request: Request, access: Asking, client: Looking, task_id: str, source: Annotated[bool, Query()] = False
) -> HTMLResponse:
    """The result so far: rendered if possible, otherwise as source."""
    task = client.get(task_id)
    found = outcome.outcome(client, task)
    values: dict[str, Any] = {"outcome": found, "missing": outcome.missing(client, task)}
    values["rendered"] = None if source else outcome.rendered(found)
    return page(request, "_results.html", access, task=task, **values)


@router.get("/tasks/{task_id}/download")
def download(client: Looking, task_id: str) -> RedirectResponse:
    """Redirect to the result; of several files, to the first, which is the document itself."""
    task = client.get(task_id)
    found = outcome.outcome(client, task, most_bytes=None)
    if not found.downloads:
        raise NotFound(found.problem or say("no_result_yet", task=task.id), code="no_result")
    return RedirectResponse(found.downloads[0].address, 303)
