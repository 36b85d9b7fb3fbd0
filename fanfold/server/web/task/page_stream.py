"""Streams page updates to readers; each fragment is rendered once for all readers that see the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from fanfold.engine.client import Client
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.errors import DatabaseProblem, NotFound
from fanfold.model.task import Cells, Event, Task
from fanfold.server.app_state import AppState
from fanfold.server.requests.authentication import Asking, At, Looking
from fanfold.server.watching.memo import Once
from fanfold.server.watching.snapshots import DatabaseLost, Locked, Moment
from fanfold.server.web.frame.languages import Words, language_of
from fanfold.server.web.frame.positions import in_ranges, in_runs
from fanfold.server.web.frame.templating import iso
from fanfold.server.web.task.task_fragments import ShownTask, events_html, failures_html, head_html
from fanfold.store.database_errors import PUBLIC

router = APIRouter()
HELLO = ServerSentEvent(event="hello", raw_data="ok")
"""Sent at once: a page that does not get it polls, because something between holds the stream back."""
SHOWN = 30
"""Events shown on a page before older ones are requested; larger bursts are cut to this."""


renderings: Once[asyncio.Future[str]] = Once()


@dataclass
class Reader:
    """One open page: what it may see and what was sent to it last."""

    place: AppState
    words: Words
    may_change: bool
    told: dict[str, str] = field(default_factory=dict)

    def shown(self, task: Task, seconds_left: float | None) -> ShownTask:
        """The task for this reader; access was checked before the stream began."""
        return ShownTask(self.place, self.place.client(), self.words, task, self.may_change, seconds_left)

    async def fragments(self, moment: Moment) -> AsyncIterator[ServerSentEvent]:
        """The head and the failures, if they changed."""
        task = moment.task
        if task is None:
            return
        shown = self.shown(task, moment.seconds_left)
        for name, make in (("head", head_html), ("failures", failures_html)):
            html = await self._rendered(task, name, partial(make, shown))
            if html is not None and self.told.get(name) != html:
                self.told[name] = html
                yield ServerSentEvent(event=name, raw_data=html)

    async def rows(self, task: Task, events: tuple[Event, ...]) -> AsyncIterator[ServerSentEvent]:
        """One message for several events, newest first, with the id of the newest."""
        if events:
            newest_first = sorted(events, key=lambda event: -event.id)[:SHOWN]
            name = f"events {newest_first[0].id} {len(events)}"
            html = await self._rendered(task, name, lambda: events_html(task, newest_first, self.words))
            if html is not None:
                yield ServerSentEvent(event="event", id=str(newest_first[0].id), raw_data=html)

    async def _rendered(self, task: Task, name: str, make: Callable[[], str]) -> str | None:
        key = (name, self.words.language, self.may_change)
        try:
            # Other readers of the same fragment share this rendering; one that disconnects does not cancel it.
            return await asyncio.shield(renderings.get(task, key, lambda: rendering(task, key, make)))
        except (NotFound, DatabaseProblem):
            return None  # Deleted or unreadable: the next update says which.


def rendering(task: Task, key: tuple[object, ...], make: Callable[[], str]) -> asyncio.Future[str]:
    """Render a fragment; a failure is not cached, so that it does not outlive its cause."""

    def ended(made: asyncio.Future[str]) -> None:
        if made.cancelled() or made.exception() is not None:
            renderings.forget(task, key)

    begun = asyncio.ensure_future(asyncio.to_thread(make))
    begun.add_done_callback(ended)
    return begun


def cells_message(cells: Cells, changed: dict[int, str] | None) -> str:
    """All cells run-length encoded, or the changed ones as ranges by letter."""
    if changed is None:
        whole = {"stage": cells.stage, "total": cells.total, "width": cells.width, "all": in_runs(cells.letters)}
        return json.dumps(whole, separators=(",", ":"), ensure_ascii=False)
    by_letter: dict[str, list[int]] = {}
    for position in sorted(changed):
        by_letter.setdefault(changed[position], []).append(position)
    return json.dumps({"c": {letter: in_ranges(at) for letter, at in by_letter.items()}}, separators=(",", ":"))


def reachable(place: At) -> None:
    """Refuse immediately while the database is known to be lost."""
    if place.live.lost_since is not None:
        raise DatabaseProblem("The database is lost.", code="unreachable", public=PUBLIC["unreachable"])


def seen(_reachable: Annotated[None, Depends(reachable)], client: Looking, task_id: str) -> Task:
    """The task, loaded before the first byte is sent, so that missing access gives an error and not an empty stream."""
    return client.get(task_id)


@router.get("/live/tasks/{task_id}", response_class=EventSourceResponse)
async def watch(
    request: Request,
    access: Asking,
    place: At,
    task: Annotated[Task, Depends(seen)],
    show: Annotated[Literal["task", "item"], Query()] = "task",
    after: Annotated[int, Query(ge=0, le=2**62)] = 0,
    once: Annotated[bool, Query()] = False,
    last_event_id: Annotated[str, Header(max_length=18)] = "",
) -> AsyncIterator[ServerSentEvent]:
    """Stream a task's updates to its page, or to the page of one of its items, until the page is closed.

    ``once`` sends the current state and ends, for pages that poll: only one page per browser has a stream.
    """
    if not once:
        yield HELLO
    reader = Reader(place, Words(language_of(request)), access.may_change)
    since = max(after, int(last_event_id) if last_event_id.isdecimal() else 0)
    watcher = place.live.watch(task.id, access.token)
    try:
        async with aclosing(place.live.follow(watcher, locks=True)) as news:
            async for new in news:
                if isinstance(new, DatabaseLost):
                    yield lost_message(new)
                    continue
                if since and show == "task":
                    # Read only now: the shared reader does not report what was committed before its first poll.
                    missed = await asyncio.to_thread(events_since, place.client(), task.id, since)
                    since = 0
                    async for message in reader.rows(task, missed):
                        yield message
                async for message in _messages(reader, new, show):
                    yield message
                if once:
                    yield lost_message(Locked(place.live.locked_since))
                if new.task is None or once:
                    return
    finally:
        place.live.unwatch(task.id, watcher)


@router.get("/live/state", response_class=EventSourceResponse)
async def watch_state(
    access: Asking, place: At, once: Annotated[bool, Query()] = False
) -> AsyncIterator[ServerSentEvent]:
    """Stream whether the database can be read, for pages that poll their figures."""
    if once:
        yield lost_message(DatabaseLost(place.live.lost_since))
        yield lost_message(Locked(place.live.locked_since))
        return
    yield HELLO
    watcher = place.live.watch_list(access.owner, ("-",), access.token)
    try:
        async with aclosing(place.live.follow(watcher, locks=True)) as news:
            async for new in news:
                if isinstance(new, DatabaseLost):
                    yield lost_message(new)
    finally:
        place.live.unwatch_list(watcher)


def lost_message(lost: DatabaseLost) -> ServerSentEvent:
    """Time since the database is lost or locked, or `ok`, because browsers drop messages without data."""
    event = "lock" if isinstance(lost, Locked) else "database"
    return ServerSentEvent(event=event, raw_data="ok" if lost.since is None else iso(lost.since))


def events_since(client: Client, task_id: str, since: int) -> tuple[Event, ...]:
    """The latest events after ``since``; none if the task was deleted in the meantime."""
    try:
        return tuple(
            event for event in WebQueries(client.lookup).latest_events(task_id, limit=SHOWN) if event.id > since
        )
    except (NotFound, DatabaseProblem):
        return ()


async def _messages(reader: Reader, moment: Moment, show: str) -> AsyncIterator[ServerSentEvent]:
    if moment.task is None:
        yield ServerSentEvent(event="gone", raw_data="gone")
        return
    if moment.cells is not None and moment.changed != {}:
        yield ServerSentEvent(event="cells", raw_data=cells_message(moment.cells, moment.changed))
    if show == "item":
        yield ServerSentEvent(event="moved", raw_data=moment.task.status)
        return
    async for message in reader.fragments(moment):
        yield message
    async for message in reader.rows(moment.task, moment.events):
        yield message
