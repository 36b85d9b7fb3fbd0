"""Server-sent events for one task and for all tasks, from one shared reader. Streams resume where they broke off."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, TypeVar

from fastapi import APIRouter, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool

from fanfold.engine.client import Client
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.errors import DatabaseProblem, NotFound
from fanfold.model.task import Event, Task
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.task_shapes import TaskShape
from fanfold.server.api.tasks import WatchedTask
from fanfold.server.requests.adapted_messages import neutral
from fanfold.server.requests.authentication import Asking, At, Looking
from fanfold.server.watching.live import Live
from fanfold.server.watching.memo import Once
from fanfold.server.watching.snapshots import DatabaseLost, ListMoment, Moment, New, Watcher

router = APIRouter(tags=["live"])
SETTLED_SECONDS = 10
"""Events may be committed slightly out of order, so a resumed stream goes back this far to miss none."""
LastEvent = Annotated[
    str | None, Header(description="Id of the last message received, to resume after it.", max_length=30)
]
EVENT = TypeAdapter(Event)
documents: Once[str] = Once()
Missed = TypeVar("Missed")
TRY_SECONDS = 0.5
log = logging.getLogger("fanfold.server")


@router.get("/tasks/{task_id}/stream", responses=may_answer(404, 409), response_class=EventSourceResponse)
async def stream_task(
    place: At, access: Asking, client: Looking, task: WatchedTask, last_event_id: LastEvent = None
) -> AsyncIterator[ServerSentEvent]:
    """Follow a task until it is finished.

    Messages: `event` (what happened, with its id; may be repeated after a lost connection), `task` (the task, whenever it has
    changed), `deleted`, and `end` when the task is finished. `database` reports that the database is lost, with the time of
    the last successful query in `lost_since`, or that it is back (null); the stream then continues where it was.
    """
    watcher = place.live.watch(task.id, access.token)
    after = number(last_event_id)
    missed = None if after is None else partial(events_since, client, task.id, after)
    try:
        async with aclosing(told(place.live, watcher, missed)) as news:
            async for message in messages(task, news, after or 0):
                yield message
    finally:
        place.live.unwatch(task.id, watcher)


@router.get("/stream", responses=may_answer(), response_class=EventSourceResponse)
async def stream_list(
    place: At, access: Asking, client: Looking, last_event_id: LastEvent = None
) -> AsyncIterator[ServerSentEvent]:
    """Follow all tasks: `task` for the newest ones and then for each that changes, `deleted` for those that are removed.

    `database` is the same as in the stream of a task.
    """
    watcher = place.live.watch_list(access.owner, token=access.token)
    after = number(last_event_id)
    missed = None if after is None else partial(WebQueries(client.lookup).changed_since, after)
    try:
        async with aclosing(told(place.live, watcher, missed)) as news:
            async for new in news:
                if isinstance(new, DatabaseLost):
                    yield database_message(new)
                elif isinstance(new, ListMoment):
                    for message in listed(new):
                        yield message
                else:
                    for task in new:
                        yield ServerSentEvent(event="task", raw_data=task_json(task))
    finally:
        place.live.unwatch_list(watcher)


async def told(
    live: Live, watcher: Watcher[New], missed: Callable[[], list[Missed]] | None
) -> AsyncGenerator[list[Missed] | New | DatabaseLost, None]:
    """Yield missed events first, then new ones, and report a lost database in between. No event is skipped."""
    waiting: New | None = None
    async with aclosing(live.follow(watcher)) as news:
        async for new in news:
            if isinstance(new, DatabaseLost):
                yield new
            else:
                waiting = new if waiting is None else waiting.followed_by(new)
            # Read only now: the shared reader does not report what was committed before its first query.
            if waiting is not None and missed is not None:
                found = await read(live, missed)
                if found is None:
                    continue  # Read when the database is back.
                missed = None
                yield found
            if waiting is not None:
                yield waiting
                waiting = None


async def read(live: Live, missed: Callable[[], list[Missed]]) -> list[Missed] | None:
    """Missed events; None if the database is lost. Shorter outages are waited out."""
    while True:
        try:
            return await run_in_threadpool(missed)
        except DatabaseProblem as problem:
            log.warning("[server] A stream cannot read its missed events: %s; trying again", problem)
            if live.lost_since is not None:
                return None
            await asyncio.sleep(TRY_SECONDS)


async def messages(
    task: Task, news: AsyncIterator[list[Event] | Moment | DatabaseLost], settled: int
) -> AsyncIterator[ServerSentEvent]:
    """Messages of a task's stream, with each event once."""
    sent: set[int] = set()
    async for new in news:
        if isinstance(new, DatabaseLost):
            yield database_message(new)
            continue
        events = new if isinstance(new, list) else [event for event in new.events if event.id not in sent]
        for event in events:
            settled = resume_id(event, settled)
            yield said(event, settled)
        if isinstance(new, list):
            sent = {event.id for event in new}
        elif new.task is None:
            yield ServerSentEvent(event="deleted", data={"id": task.id})
            return
        else:
            yield ServerSentEvent(event="task", raw_data=task_json(new.task))
            if new.task.finished:
                yield ServerSentEvent(event="end", data={"state": new.task.state})
                return


def database_message(lost: DatabaseLost) -> ServerSentEvent:
    """Message with the time since the database is lost; null means that it is back."""
    return ServerSentEvent(event="database", data={"lost_since": lost.since})


def events_since(client: Client, task_id: str, after: int) -> list[Event]:
    """All events after ``after``; none if the task was deleted in the meantime."""
    found: list[Event] = []
    try:
        while some := client.events(task_id, found[-1].id if found else after):
            found += some
    except NotFound:
        pass
    return found


def task_json(task: Task) -> str:
    """The task as JSON, made once for all its watchers."""
    return documents.get(task, (), lambda: TaskShape.of(task).model_dump_json())


def listed(moment: ListMoment) -> list[ServerSentEvent]:
    """A list update as messages."""
    mark = str(max(0, moment.newest))
    changed = [ServerSentEvent(event="task", raw_data=task_json(task), id=mark) for task in moment.tasks.values()]
    return changed + [ServerSentEvent(event="deleted", data={"id": id_}, id=mark) for id_ in sorted(moment.gone)]


def said(event: Event, settled: int) -> ServerSentEvent:
    """An event as a message. Its SSE id is the point to resume from, which may be slightly earlier."""
    return ServerSentEvent(event="event", raw_data=EVENT.dump_json(neutral(event)).decode(), id=str(settled))


def resume_id(event: Event, settled: int) -> int:
    """Point to resume from after this event: the event itself if it is old enough that no earlier one can still appear."""
    old = event.at < datetime.now(UTC) - timedelta(seconds=SETTLED_SECONDS)
    return max(settled, event.id) if old else settled


def number(last_event_id: str | None) -> int | None:
    """The id to resume after; None for anything that is not an id."""
    return int(last_event_id) if last_event_id and last_event_id.isdecimal() and len(last_event_id) < 19 else None
