"""The page with all tasks: the live list with its filters, and the drop zone above it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response

from fanfold.engine.client import Client
from fanfold.engine.queries.task_view import number_in
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.errors import DatabaseProblem, NotFound
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import Task, TaskOrder
from fanfold.model.words import ACCEPT
from fanfold.server.requests.authentication import Access, Asking, At, Looking
from fanfold.server.watching.memo import Once
from fanfold.server.watching.snapshots import DatabaseLost, ListMoment, Locked, seconds_left
from fanfold.server.web.frame.languages import Words, language_of
from fanfold.server.web.frame.templating import fragment, page
from fanfold.server.web.task.page_stream import HELLO, lost_message, reachable
from fanfold.server.web.task.task_header import LABELS as COMMAND_WORDS
from fanfold.server.web.task.task_header import OfferedCommand, commands, download, took, unit_of
from fanfold.server.web.task.ways_out import may_switch, way_out
from fanfold.server.web.task_list import bulk_commands as bulk
from fanfold.server.web.task_list import new_task as submitting
from fanfold.server.web.task_list.list_filter import GROUPS, LABELS, NEEDS, ORDERS, Filtered, ListFilter

router = APIRouter()
router.include_router(submitting.router)
router.include_router(bulk.router)
PAGE = 50
COUNTED = 1_000
"""Largest task for which the list names the engines if all its items are degraded."""
RECENT_SECONDS = 60.0
"""Age below which a change may fall between the page and its stream, so the task is sent again."""
ID = re.compile(r"t-[a-z0-9]{1,40}")
rows: Once[str] = Once()


@dataclass(frozen=True)
class ListRow:
    """A task in the list, with everything drawn besides its own fields."""

    task: Task
    left: float | None
    main: list[OfferedCommand]
    others: list[OfferedCommand]
    unit: tuple[str, str]
    """The application's noun for items, singular and plural."""
    why: str
    """Why it waits or failed, in one sentence; empty if it makes progress."""
    other_options: bool = False
    """Whether other options help where a plain retry does not."""
    switch: bool = False
    """Whether to offer another model for what it waits for."""
    maker: str = ""
    """What made its result: the model that answered last, or the fallbacks if there were only those."""

    @property
    def has_bar(self) -> bool:
        """Whether there is progress to show; a task that has ended for good has none."""
        return not self.task.finished or self.task.state is TaskState.PARTIAL

    @property
    def stage_now(self) -> str:
        """The current stage of a running task, if its state does not name it."""
        is_named = self.task.stage in self.task.status or self.task.finished
        return "" if is_named or len(self.task.stages) < 2 else self.task.stage

    @property
    def took(self) -> float | None:
        """Duration so far, or in total."""
        return took(self.task)

    @property
    def download(self) -> str | None:
        """Download URL of its result."""
        return download(self.task)


def row_of(client: Client, task: Task, t: Words, left: float | None) -> ListRow:
    """A task as shown in the list; the main commands are buttons, the others are in the menu."""
    way = way_out(client, task)
    found = commands(task, t, same_helps=way.same)
    main = [command for command in found if _first(task, command.verb) and not command.in_menu]
    others = [command for command in found if command not in main]
    unit = unit_of(client, task)
    switch, maker = may_switch(client, task), _maker(client, task, t)
    return ListRow(task, left, main, others, unit, _why(task, t), way.options, switch, maker)


def _maker(client: Client, task: Task, t: Words) -> str:
    """The model that answered last or, if all results are fallbacks, what replaced it."""
    model = task.spending.model or ""
    if not 0 < task.done <= min(task.degraded, COUNTED):
        return model
    makers = WebQueries(client.lookup).makers(task.id)
    return model if model in makers else ", ".join(map(t, makers)) or model


def _why(task: Task, t: Words) -> str:
    # The counts and buttons of a partial task already show what it waits for.
    if task.wait_reason and task.wait_reason != task.status and task.state is not TaskState.PARTIAL:
        return t.why(task.wait_reason)
    return t.sentence(task.error_message) if task.state is TaskState.FAILED else ""


def _first(task: Task, verb: str) -> bool:
    if verb == "merge":
        return task.state in (TaskState.WAITING, TaskState.PARTIAL)
    if verb == "resume":
        return "merge" not in task.available_commands
    return verb in ("pause", "retry") or (verb == ACCEPT and task.finished)


def draw(client: Client, task: Task, t: Words, access: Access, left: float | None) -> str:
    """The row of a task."""
    return fragment("_task_row.html", t, row=row_of(client, task, t, left), access=access)


@router.get("/")
def tasks(
    request: Request,
    access: Asking,
    client: Looking,
    place: At,
    wanted: Filtered,
    after: Annotated[str | None, Query(max_length=64)] = None,
    new: bool = False,
) -> Response:
    """The page with the tasks, or only the list for the script that refreshes it. ``new`` opens the form for new tasks."""
    t = Words(language_of(request))
    values = listed(client, t, access, wanted, cursor(client, after))
    if "hx-request" in request.headers:
        return HTMLResponse(fragment("_task_list.html", t, access=access, **values))
    return page(request, "tasks.html", access, **values, **submitting.offered(place, client), opened=new)


def cursor(client: Client, after: str | None) -> str | None:
    """The cursor to continue after; for the id of a deleted task, None, so that the list starts from the top."""
    try:
        return after if not after or number_in(after) is not None else client.get(after).cursor
    except NotFound:
        return None


def listed(client: Client, t: Words, access: Access, wanted: ListFilter, after: str | None) -> dict[str, Any]:
    """Values for the list: one page of rows, group counts and filter choices."""
    found = client.list(**wanted.asking(), after=after, limit=PAGE + 1)
    counts = client.counts()
    groups = counts | {NEEDS: WebQueries(client.lookup).count_needing()}
    return {
        "tasks": found[:PAGE],
        "drawn": [draw(client, task, t, access, seconds_left(task)) for task in found[:PAGE]],
        "following": found[PAGE - 1].cursor if len(found) > PAGE else None,
        "after": after,
        "wanted": wanted,
        "groups": [(name, LABELS[name], wanted.counted(groups, name)) for name in GROUPS],
        "total": sum(counts.values()),
        "labels": WebQueries(client.lookup).labels(),
        "commands": bulk.COMMANDS,
        "command_words": COMMAND_WORDS,
        "orders": ORDERS,
        "place_pipelines": sorted((one.name, one.title) for one in client.pipelines.values()),
    }


@router.get("/pill")
def pill(request: Request, access: Asking) -> HTMLResponse:
    """Number of live workers, for the header."""
    return page(request, "_pill.html", access)


@dataclass(frozen=True)
class Watching:
    """A reader of the list: access, filter and language."""

    client: Client
    access: Access
    words: Words
    wanted: ListFilter
    after: str | None
    ids: frozenset[str]

    def now(self) -> list[Task]:
        """The current page of the list."""
        return self.client.list(**self.wanted.asking(), after=self.after, limit=PAGE)


def watching(
    request: Request,
    access: Asking,
    client: Looking,
    wanted: Filtered,
    ids: Annotated[str, Query(max_length=5_000)] = "",
    after: Annotated[str | None, Query(max_length=64)] = None,
) -> Watching:
    """The reader of a stream, loaded first so that errors are reported before the stream begins."""
    shown = frozenset(id_ for id_ in ids.split(",")[: 2 * PAGE] if ID.fullmatch(id_))
    return Watching(client, access, Words(language_of(request)), wanted, cursor(client, after), shown)


@router.get("/live/tasks", response_class=EventSourceResponse)
async def live_tasks(
    place: At,
    _reachable: Annotated[None, Depends(reachable)],
    who: Annotated[Watching, Depends(watching)],
    once: Annotated[bool, Query()] = False,
) -> AsyncIterator[ServerSentEvent]:
    """Stream changed rows; `refresh` when a task was added, removed or moved to another group.

    ``once`` sends recent changes and ends, for pages without a stream.
    """
    if once:
        for event in await run_in_threadpool(asked_once, who):
            yield event
        yield lost_message(Locked(place.live.locked_since))
        return
    yield HELLO
    watcher = place.live.watch_list(who.access.owner, who.ids, who.access.token)
    try:
        try:
            now = await run_in_threadpool(who.now)
        except DatabaseProblem:
            yield lost_message(DatabaseLost(datetime.now(UTC)))
            return  # The browser reconnects automatically.
        states = {task.id: standing(who.wanted, task) for task in now}
        for event in first_events(who, now):
            yield event
        async with aclosing(place.live.follow(watcher, locks=True)) as news:
            async for new in news:
                for event in [lost_message(new)] if isinstance(new, DatabaseLost) else events_of(who, new, states):
                    yield event
    finally:
        place.live.unwatch_list(watcher)


def asked_once(who: Watching) -> list[ServerSentEvent]:
    """Recent changes for a page without a stream; also reports a database that was just lost."""
    try:
        return first_events(who, who.now())
    except DatabaseProblem:
        return [lost_message(DatabaseLost(datetime.now(UTC)))]


def first_events(who: Watching, now: list[Task]) -> list[ServerSentEvent]:
    """Changes that may have happened between rendering the page and starting its stream."""
    made = []
    for task in now:
        recent = (datetime.now(UTC) - task.updated_at).total_seconds() < RECENT_SECONDS
        if task.id in who.ids and (recent or task.state is TaskState.ACTIVE):
            row = draw(who.client, task, who.words, who.access, seconds_left(task))
            made.append(ServerSentEvent(event="row", raw_data=row))
    changed = {task.id for task in now} != who.ids
    return [*made, *([ServerSentEvent(event="refresh", raw_data="list")] if changed else [])]


Standing = tuple[TaskState, bool, datetime | None]


def standing(wanted: ListFilter, task: Task) -> Standing:
    """The fields that determine a task's groups and position; a change requires a refresh."""
    by_change = wanted.sort == TaskOrder.UPDATED
    return task.state, task.needs_you is not None, task.updated_at if by_change else None


def events_of(who: Watching, moment: ListMoment, states: dict[str, Standing]) -> list[ServerSentEvent]:
    """Messages of one update for this list; ``states`` holds the last known standing of each task."""
    made = []
    for id_ in sorted(moment.gone & who.ids):
        made.append(ServerSentEvent(event="gone", raw_data=f"task-{id_}"))
    moved = False
    for id_, task in moment.tasks.items():
        here = standing(who.wanted, task)
        moved = moved or states.get(id_) != here
        states[id_] = here
        if id_ in who.ids:
            made.append(ServerSentEvent(event="row", raw_data=_drawn_once(who, task, moment.seconds_left.get(id_))))
    return [*made, *([ServerSentEvent(event="refresh", raw_data="list")] if moved or moment.gone & who.ids else [])]


def _drawn_once(who: Watching, task: Task, left: float | None) -> str:
    seen = (who.words.language, who.access.may_change, who.access.sees_all, left)
    return rows.get(task, seen, lambda: draw(who.client, task, who.words, who.access, left))
