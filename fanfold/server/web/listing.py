"""What is going on? The page with all tasks: the list with its filters, live, and the drop zone above it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response

from fanfold.engine.client import Client
from fanfold.errors import NotFound
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import Task
from fanfold.server.access import Access, Asking, At, Looking
from fanfold.server.memory import Once
from fanfold.server.moments import ListMoment, seconds_left
from fanfold.server.web import bulk, submitting
from fanfold.server.web.filtering import GROUPS, LABELS, Filtered, Wanted
from fanfold.server.web.headline import Command, commands, download, strip
from fanfold.server.web.rendering import fragment, page
from fanfold.server.web.words import Words, language_of

router = APIRouter()
router.include_router(submitting.router)
router.include_router(bulk.router)
PAGE = 50
RECENT_SECONDS = 60.0
"""A task that changed so lately may have changed between the page and its stream: it is sent once more."""
ID = re.compile(r"t-[a-z0-9]{1,40}")
rows: Once[str] = Once()


@dataclass(frozen=True)
class Row:
    """A task in the list: what is drawn of it beside what it says itself."""

    task: Task
    left: float | None
    main: list[Command]
    others: list[Command]
    strip: list[Any]

    @property
    def download(self) -> str | None:
        """Where its result is."""
        return download(self.task)


def row_of(task: Task, t: Words, left: float | None) -> Row:
    """A task as the list shows it; the commands one looks for first are buttons, the others are in the menu."""
    found = commands(task, t)
    main = [command for command in found if _first(task, command.verb)]
    return Row(task, left, main, [command for command in found if command not in main], strip(task, ()))


def _first(task: Task, verb: str) -> bool:
    if verb == "merge":
        return task.state in (TaskState.WAITING, TaskState.PARTIAL)
    if verb == "resume":
        return "merge" not in task.available_commands
    return verb in ("pause", "retry")


def draw(task: Task, t: Words, access: Access, left: float | None) -> str:
    """The row of a task."""
    return fragment("_task_row.html", t, row=row_of(task, t, left), access=access)


@router.get("/")
def tasks(
    request: Request,
    access: Asking,
    client: Looking,
    place: At,
    wanted: Filtered,
    after: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    """The page with the tasks; for a script that refreshes it only the list."""
    t = Words(language_of(request))
    values = listed(client, t, access, wanted, cursor(client, after))
    if "hx-request" in request.headers:
        return HTMLResponse(fragment("_task_list.html", t, access=access, **values))
    return page(request, "tasks.html", access, **values, **submitting.offered(place))


def cursor(client: Client, after: str | None) -> str | None:
    """The task that the page begins behind; when it was deleted meanwhile, the list begins with the newest again."""
    try:
        return client.get(after).id if after else None
    except NotFound:
        return None


def listed(client: Client, t: Words, access: Access, wanted: Wanted, after: str | None) -> dict[str, Any]:
    """What the list needs: one page of rows, the counts of the groups, and what can be filtered by."""
    found = client.list(**wanted.asking(), after=after, limit=PAGE + 1)
    counts = client.counts()
    return {
        "tasks": found[:PAGE],
        "drawn": [draw(task, t, access, seconds_left(task)) for task in found[:PAGE]],
        "following": found[PAGE - 1].id if len(found) > PAGE else None,
        "after": after,
        "wanted": wanted,
        "groups": [(name, LABELS[name], wanted.counted(counts, name)) for name in GROUPS],
        "total": sum(counts.values()),
        "labels": client.labels(),
        "commands": bulk.COMMANDS,
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
    wanted: Wanted
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
async def live_tasks(place: At, who: Annotated[Watching, Depends(watching)]) -> AsyncIterator[ServerSentEvent]:
    """The rows that change, in their new form; `refresh` when a task has come, gone or changed its group."""
    watcher = place.live.watch_list(who.access.owner, who.ids, who.access.token)
    try:
        now = await run_in_threadpool(who.now)
        states = {task.id: task.state for task in now}
        for event in first_events(who, now):
            yield event
        while (moment := await watcher.next()) is not None:
            for event in events_of(who, moment, states):
                yield event
    finally:
        place.live.unwatch_list(watcher)


def first_events(who: Watching, now: list[Task]) -> list[ServerSentEvent]:
    """What may have happened after the page was made and before its stream began."""
    made = []
    for task in now:
        recent = (datetime.now(UTC) - task.updated_at).total_seconds() < RECENT_SECONDS
        if task.id in who.ids and (recent or task.state is TaskState.ACTIVE):
            row = draw(task, who.words, who.access, seconds_left(task))
            made.append(ServerSentEvent(event="row", raw_data=row))
    changed = {task.id for task in now} != who.ids
    return [*made, *([ServerSentEvent(event="refresh", raw_data="list")] if changed else [])]


def events_of(who: Watching, moment: ListMoment, states: dict[str, TaskState]) -> list[ServerSentEvent]:
    """What one moment means for this list; ``states`` is what it knows of each task."""
    made = []
    for id_ in sorted(moment.gone & who.ids):
        made.append(ServerSentEvent(event="gone", raw_data=f"task-{id_}"))
    moved = False
    for id_, task in moment.tasks.items():
        moved = moved or states.get(id_) is not task.state
        states[id_] = task.state
        if id_ in who.ids:
            made.append(ServerSentEvent(event="row", raw_data=_drawn_once(who, task, moment.seconds_left.get(id_))))
    return [*made, *([ServerSentEvent(event="refresh", raw_data="list")] if moved or moment.gone & who.ids else [])]


def _drawn_once(who: Watching, task: Task, left: float | None) -> str:
    seen = (who.words.language, who.access.may_change, who.access.sees_all, left)
    return rows.get(task, seen, lambda: draw(task, who.words, who.access, left))
