"""What is new on the page? One stream per reader; each fragment is rendered once for all who see the same."""

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
from fanfold.engine.queries.page import PageQueries
from fanfold.errors import DatabaseProblem, NotFound
from fanfold.model.task import Cells, Event, Task
from fanfold.server.app_state import AppState
from fanfold.server.requests.access import Asking, At, Looking
from fanfold.server.watching.memo import Once
from fanfold.server.watching.snapshots import DatabaseLost, Locked, Moment
from fanfold.server.web.frame.languages import Words, language_of
from fanfold.server.web.frame.positions import in_ranges, in_runs
from fanfold.server.web.frame.templating import iso
from fanfold.server.web.task.task_fragments import ShownTask, events_html, failures_html, head_html
from fanfold.store.database_errors import PUBLIC

router = APIRouter()
SHOWN = 30
"""So many events a page shows before somebody asks for older ones; a burst of more is not sent."""


renderings: Once[asyncio.Future[str]] = Once()


@dataclass
class Reader:
    """One open page: what it may see, and what it was told last."""

    place: AppState
    words: Words
    may_change: bool
    told: dict[str, str] = field(default_factory=dict)

    def shown(self, task: Task, seconds_left: float | None) -> ShownTask:
        """The task for this reader; the task's own rights were checked before the stream began."""
        return ShownTask(self.place, self.place.client(), self.words, task, self.may_change, seconds_left)

    async def fragments(self, moment: Moment) -> AsyncIterator[ServerSentEvent]:
        """The head and the failures, if they are others than before."""
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
        """One message for some events, the newest first; its id is the newest one's."""
        if events:
            newest_first = sorted(events, key=lambda event: -event.id)[:SHOWN]
            name = f"events {newest_first[0].id} {len(events)}"
            html = await self._rendered(task, name, lambda: events_html(task, newest_first, self.words))
            if html is not None:
                yield ServerSentEvent(event="event", id=str(newest_first[0].id), raw_data=html)

    async def _rendered(self, task: Task, name: str, make: Callable[[], str]) -> str | None:
        key = (name, self.words.language, self.may_change)
        try:
            # Whoever wants the same meanwhile waits for it as well; whoever leaves does not end it for the others.
            return await asyncio.shield(renderings.get(task, key, lambda: rendering(task, key, make)))
        except (NotFound, DatabaseProblem):
            return None  # It is deleted, or cannot be read: the next moment tells.


def rendering(task: Task, key: tuple[object, ...], make: Callable[[], str]) -> asyncio.Future[str]:
    """The making of a fragment; one that goes wrong is forgotten, so that the trouble does not outlive its cause."""

    def ended(made: asyncio.Future[str]) -> None:
        if made.cancelled() or made.exception() is not None:
            renderings.forget(task, key)

    begun = asyncio.ensure_future(asyncio.to_thread(make))
    begun.add_done_callback(ended)
    return begun


def cells_message(cells: Cells, changed: dict[int, str] | None) -> str:
    """All cells in runs, or those that changed, by letter, in ranges."""
    if changed is None:
        whole = {"stage": cells.stage, "total": cells.total, "width": cells.width, "all": in_runs(cells.letters)}
        return json.dumps(whole, separators=(",", ":"), ensure_ascii=False)
    by_letter: dict[str, list[int]] = {}
    for position in sorted(changed):
        by_letter.setdefault(changed[position], []).append(position)
    return json.dumps({"c": {letter: in_ranges(at) for letter, at in by_letter.items()}}, separators=(",", ":"))


def reachable(place: At) -> None:
    """Refuse at once what would wait for a database that is known to be lost."""
    if place.live.lost_since is not None:
        raise DatabaseProblem("The database is lost.", code="unreachable", public=PUBLIC["unreachable"])


def seen(_reachable: Annotated[None, Depends(reachable)], client: Looking, task_id: str) -> Task:
    """The task, before the first byte is sent: who may not see it gets an error, not an empty stream."""
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
    """What is new of a task, for its page or for that of one of its items, until the page is closed.

    ``once`` tells how it is now and ends: for pages that ask now and then, as only one page of a browser has a stream.
    """
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
                    # Read only now: what was committed before the shared reader's first look is no news to it.
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
    """Whether the database can be read, for pages that ask for their figures now and then."""
    if once:
        yield lost_message(DatabaseLost(place.live.lost_since))
        yield lost_message(Locked(place.live.locked_since))
        return
    watcher = place.live.watch_list(access.owner, ("-",), access.token)
    try:
        async with aclosing(place.live.follow(watcher, locks=True)) as news:
            async for new in news:
                if isinstance(new, DatabaseLost):
                    yield lost_message(new)
    finally:
        place.live.unwatch_list(watcher)


def lost_message(lost: DatabaseLost) -> ServerSentEvent:
    """Since when the database is lost, or its lock held, or `ok`; a browser drops messages without data."""
    event = "lock" if isinstance(lost, Locked) else "database"
    return ServerSentEvent(event=event, raw_data="ok" if lost.since is None else iso(lost.since))


def events_since(client: Client, task_id: str, since: int) -> tuple[Event, ...]:
    """The latest events behind ``since``; none when the task was deleted meanwhile."""
    try:
        return tuple(
            event for event in PageQueries(client.lookup).latest_events(task_id, limit=SHOWN) if event.id > since
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
