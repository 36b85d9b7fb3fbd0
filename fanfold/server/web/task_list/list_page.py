"""What is going on? The page with all tasks: the list with its filters, live, and the drop zone above it."""

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
from fanfold.engine.queries.page import PageQueries
from fanfold.engine.queries.task_view import number_in
from fanfold.errors import DatabaseProblem, NotFound
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import Task, TaskOrder
from fanfold.model.words import ACCEPT
from fanfold.server.requests.access import Access, Asking, At, Looking
from fanfold.server.watching.memo import Once
from fanfold.server.watching.snapshots import DatabaseLost, ListMoment, Locked, seconds_left
from fanfold.server.web.frame.languages import Words, language_of
from fanfold.server.web.frame.templating import fragment, page
from fanfold.server.web.task.page_stream import lost_message, reachable
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
"""Of a task with at most this many items the list tells who made them, if none is as it was asked for."""
RECENT_SECONDS = 60.0
"""A task that changed so lately may have changed between the page and its stream: it is sent once more."""
ID = re.compile(r"t-[a-z0-9]{1,40}")
rows: Once[str] = Once()


@dataclass(frozen=True)
class ListRow:
    """A task in the list: what is drawn of it beside what it says itself."""

    task: Task
    left: float | None
    main: list[OfferedCommand]
    others: list[OfferedCommand]
    unit: tuple[str, str]
    """What its application calls one item, and several."""
    why: str
    """Why it waits or has failed, in one sentence; empty when it gets on."""
    other_options: bool = False
    """Whether other options help where the same again does not."""
    switch: bool = False
    """Whether another model should be offered for what it has been waiting for."""
    maker: str = ""
    """Who made its result: the model that answered last, unless only fallbacks did."""

    @property
    def has_bar(self) -> bool:
        """Whether there is progress to show: what has ended for good has none."""
        return not self.task.finished or self.task.state is TaskState.PARTIAL

    @property
    def stage_now(self) -> str:
        """The stage of a task that is under way, where its state does not name it."""
        is_named = self.task.stage in self.task.status or self.task.finished
        return "" if is_named or len(self.task.stages) < 2 else self.task.stage

    @property
    def took(self) -> float | None:
        """How long it took, or has been under way."""
        return took(self.task)

    @property
    def download(self) -> str | None:
        """Where its result is."""
        return download(self.task)


def row_of(client: Client, task: Task, t: Words, left: float | None) -> ListRow:
    """A task as the list shows it; the commands one looks for first are buttons, the others are in the menu."""
    way = way_out(client, task)
    found = commands(task, t, same_helps=way.same)
    main = [command for command in found if _first(task, command.verb) and not command.in_menu]
    others = [command for command in found if command not in main]
    unit = unit_of(client, task)
    switch, maker = may_switch(client, task), _maker(client, task, t)
    return ListRow(task, left, main, others, unit, _why(task, t), way.options, switch, maker)


def _maker(client: Client, task: Task, t: Words) -> str:
    """The model that answered last; where all results are by fallback, what stood in for it."""
    model = task.spending.model or ""
    if not 0 < task.done <= min(task.degraded, COUNTED):
        return model
    makers = PageQueries(client.lookup).makers(task.id)
    return model if model in makers else ", ".join(map(t, makers)) or model


def _why(task: Task, t: Words) -> str:
    # What a partial task waits for is said by its counts and its buttons.
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
    """The page with the tasks; for a script that refreshes it only the list. ``new`` has the form for new tasks open."""
    t = Words(language_of(request))
    values = listed(client, t, access, wanted, cursor(client, after))
    if "hx-request" in request.headers:
        return HTMLResponse(fragment("_task_list.html", t, access=access, **values))
    return page(request, "tasks.html", access, **values, **submitting.offered(place), opened=new)


def cursor(client: Client, after: str | None) -> str | None:
    """The place that the page begins behind; an id of a task that is gone names none, and the list begins at its beginning."""
    try:
        return after if not after or number_in(after) is not None else client.get(after).cursor
    except NotFound:
        return None


def listed(client: Client, t: Words, access: Access, wanted: ListFilter, after: str | None) -> dict[str, Any]:
    """What the list needs: one page of rows, the counts of the groups, and what can be filtered by."""
    found = client.list(**wanted.asking(), after=after, limit=PAGE + 1)
    counts = client.counts()
    groups = counts | {NEEDS: PageQueries(client.lookup).count_needing()}
    return {
        "tasks": found[:PAGE],
        "drawn": [draw(client, task, t, access, seconds_left(task)) for task in found[:PAGE]],
        "following": found[PAGE - 1].cursor if len(found) > PAGE else None,
        "after": after,
        "wanted": wanted,
        "groups": [(name, LABELS[name], wanted.counted(groups, name)) for name in GROUPS],
        "total": sum(counts.values()),
        "labels": PageQueries(client.lookup).labels(),
        "commands": bulk.COMMANDS,
        "command_words": COMMAND_WORDS,
        "orders": ORDERS,
        "place_pipelines": sorted((one.name, one.title) for one in client.pipelines.values()),
    }


@router.get("/pill")
def pill(request: Request, access: Asking) -> HTMLResponse:
    """How many workers live, for the header."""
    return page(request, "_pill.html", access)


@dataclass(frozen=True)
class Watching:
    """Who watches which tasks of the list, and in which language."""

    client: Client
    access: Access
    words: Words
    wanted: ListFilter
    after: str | None
    ids: frozenset[str]

    def now(self) -> list[Task]:
        """The page of the list as it is."""
        return self.client.list(**self.wanted.asking(), after=self.after, limit=PAGE)


def watching(
    request: Request,
    access: Asking,
    client: Looking,
    wanted: Filtered,
    ids: Annotated[str, Query(max_length=5_000)] = "",
    after: Annotated[str | None, Query(max_length=64)] = None,
) -> Watching:
    """Who watches what; errors are told before the stream begins."""
    shown = frozenset(id_ for id_ in ids.split(",")[: 2 * PAGE] if ID.fullmatch(id_))
    return Watching(client, access, Words(language_of(request)), wanted, cursor(client, after), shown)


@router.get("/live/tasks", response_class=EventSourceResponse)
async def live_tasks(
    place: At,
    _reachable: Annotated[None, Depends(reachable)],
    who: Annotated[Watching, Depends(watching)],
    once: Annotated[bool, Query()] = False,
) -> AsyncIterator[ServerSentEvent]:
    """The rows that change, in their new form; `refresh` when a task has come, gone or changed its group.

    ``once`` tells what has changed lately and ends, as for a page that has no stream.
    """
    if once:
        for event in await run_in_threadpool(asked_once, who):
            yield event
        yield lost_message(Locked(place.live.locked_since))
        return
    watcher = place.live.watch_list(who.access.owner, who.ids, who.access.token)
    try:
        try:
            now = await run_in_threadpool(who.now)
        except DatabaseProblem:
            yield lost_message(DatabaseLost(datetime.now(UTC)))
            return  # The browser tries again by itself.
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
    """What has changed lately, for a page that has no stream; a database that is just gone is told as such."""
    try:
        return first_events(who, who.now())
    except DatabaseProblem:
        return [lost_message(DatabaseLost(datetime.now(UTC)))]


def first_events(who: Watching, now: list[Task]) -> list[ServerSentEvent]:
    """What may have happened after the page was made and before its stream began."""
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
    """What decides in which groups of the list a task is, and where: a change asks for the list anew."""
    by_change = wanted.sort == TaskOrder.UPDATED
    return task.state, task.needs_you is not None, task.updated_at if by_change else None


def events_of(who: Watching, moment: ListMoment, states: dict[str, Standing]) -> list[ServerSentEvent]:
    """What one moment means for this list; ``states`` is what it knows of each task."""
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
