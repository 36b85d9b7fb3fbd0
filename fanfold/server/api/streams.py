"""What is new? Server-sent events of one task and of all, from the one shared reader; they resume where they broke off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool

from fanfold.engine.client import Client
from fanfold.errors import NotFound
from fanfold.model.task import Event, Task
from fanfold.server.access import Asking, At, Looking
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes import TaskShape
from fanfold.server.api.tasks import WatchedTask
from fanfold.server.memo import Once
from fanfold.server.sentences import neutral
from fanfold.server.snapshots import ListMoment, Moment, Watcher

router = APIRouter(tags=["live"])
SETTLED_SECONDS = 10
"""Events may be committed a little out of order: a stream that breaks off resumes so far back, so that none is missed."""
LastEvent = Annotated[
    str | None, Header(description="The id of the last message got, to go on behind it.", max_length=30)
]
EVENT = TypeAdapter(Event)
documents: Once[str] = Once()


@router.get("/tasks/{task_id}/stream", responses=may_answer(404, 409), response_class=EventSourceResponse)
async def stream_task(
    place: At, access: Asking, client: Looking, task: WatchedTask, last_event_id: LastEvent = None
) -> AsyncIterator[ServerSentEvent]:
    """Follow a task until it is finished.

    Messages: `event` (what happened, each with its id; one may come twice after a loss of connection), `task` (the task,
    whenever it has changed), `deleted`, and `end` when the task is finished.
    """
    watcher = place.live.watch(task.id, access.token)
    try:
        async for message in messages(client, task, watcher, number(last_event_id)):
            yield message
    finally:
        place.live.unwatch(task.id, watcher)


@router.get("/stream", responses=may_answer(), response_class=EventSourceResponse)
async def stream_list(
    place: At, access: Asking, client: Looking, last_event_id: LastEvent = None
) -> AsyncIterator[ServerSentEvent]:
    """Follow all tasks: `task` first for the newest and then for each that has changed, `deleted` for those that are gone."""
    watcher = place.live.watch_list(access.owner, token=access.token)
    try:
        after = number(last_event_id)
        if after is not None:
            for task in await run_in_threadpool(client.changed_since, after):
                yield ServerSentEvent(event="task", raw_data=task_json(task))
        while (moment := await watcher.next()) is not None:
            for message in listed(moment):
                yield message
    finally:
        place.live.unwatch_list(watcher)


async def messages(
    client: Client, task: Task, watcher: Watcher[Moment], after: int | None
) -> AsyncIterator[ServerSentEvent]:
    """First what was missed, then what is new, each event once."""
    moment = await watcher.next()
    # Read only now: what was committed before the shared reader's first look is no news to it.
    missed = [] if after is None else await run_in_threadpool(events_since, client, task.id, after)
    sent = {event.id for event in missed}
    settled = after or 0
    for event in missed:
        settled = resume_id(event, settled)
        yield said(event, settled)
    while moment is not None:
        for event in moment.events:
            if event.id not in sent:
                settled = resume_id(event, settled)
                yield said(event, settled)
        if moment.task is None:
            yield ServerSentEvent(event="deleted", data={"id": task.id})
            return
        yield ServerSentEvent(event="task", raw_data=task_json(moment.task))
        if moment.task.finished:
            yield ServerSentEvent(event="end", data={"state": moment.task.state})
            return
        moment = await watcher.next()


def events_since(client: Client, task_id: str, after: int) -> list[Event]:
    """Every event behind ``after``; none when the task was deleted meanwhile."""
    found: list[Event] = []
    try:
        while some := client.events(task_id, found[-1].id if found else after):
            found += some
    except NotFound:
        pass
    return found


def task_json(task: Task) -> str:
    """The task for a program, made once for all who watch it."""
    return documents.get(task, (), lambda: TaskShape.of(task).model_dump_json())


def listed(moment: ListMoment) -> list[ServerSentEvent]:
    """A moment of the list as messages."""
    mark = str(max(0, moment.newest))
    changed = [ServerSentEvent(event="task", raw_data=task_json(task), id=mark) for task in moment.tasks.values()]
    return changed + [ServerSentEvent(event="deleted", data={"id": id_}, id=mark) for id_ in sorted(moment.gone)]


def said(event: Event, settled: int) -> ServerSentEvent:
    """An event as a message; its SSE id is where to resume, which may lie a little behind it."""
    return ServerSentEvent(event="event", raw_data=EVENT.dump_json(neutral(event)).decode(), id=str(settled))


def resume_id(event: Event, settled: int) -> int:
    """Where to resume once this event was seen: behind it if it is old enough that nothing can come before it any more."""
    old = event.at < datetime.now(UTC) - timedelta(seconds=SETTLED_SECONDS)
    return max(settled, event.id) if old else settled


def number(last_event_id: str | None) -> int | None:
    """The id to resume behind; anything that is no id is none."""
    return int(last_event_id) if last_event_id and last_event_id.isdecimal() and len(last_event_id) < 19 else None
