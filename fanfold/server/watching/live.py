"""One database reader for all watchers, so that two hundred browsers cost no more queries than one."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fanfold.engine.queries.task_view import view
from fanfold.engine.queries.web_queries import cells_of
from fanfold.engine.worker.beside.restart import keep_running
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import Cells, Event, Task, TaskRow
from fanfold.server.watching.listed_tasks import LATE_EVENTS, ListedTasks
from fanfold.server.watching.samples import SAMPLE_SECONDS, Samples
from fanfold.server.watching.snapshots import (
    MOST_EVENTS,
    DatabaseLost,
    ListMoment,
    Locked,
    Moment,
    New,
    SettledRate,
    Watcher,
)
from fanfold.store.dialects.notify import Hints
from fanfold.store.dialects.write_lock import WriteLock
from fanfold.store.store import Store, Transaction

INTERVAL_SECONDS = 0.5
LOAD = 5
"""Pause after a poll, in multiples of its duration: watching must not slow down the work."""
CHECK_SECONDS = 1.0
REST_SECONDS = 30.0
SILENT_SECONDS = 3.0
"""A poll that takes longer means that the database does not answer."""
LOCKED_SECONDS = 5.0
"""A write lock held longer than this is reported: commands wait for it and workers are blocked."""
ASKED_SECONDS = 10.0
"""How long the lock is checked after the last request: pages without a stream poll every few seconds."""
TOLD_SECONDS = 0.5
"""Interval at which open pages are told whether the database can be read."""


@dataclass
class Watched:
    """A watched task: its watchers and its state at the last poll."""

    watchers: set[Watcher[Moment]] = field(default_factory=set)
    last: Moment | None = None
    newest: int = 0
    seen: set[int] = field(default_factory=set)
    pace: SettledRate = field(default_factory=SettledRate)
    moved_at: float = 0.0

    def is_at_rest(self, row: TaskRow, now: float) -> bool:
        """Whether nothing can have changed: the task is idle and its last items were handed back long ago."""
        known = self.last.task if self.last is not None else None
        same = known is not None and known.updated_at == row.updated_at
        at_work = self.last is not None and self.last.cells is not None and "r" in self.last.cells.letters
        return same and not at_work and row.state is not TaskState.ACTIVE and now - self.moved_at > REST_SECONDS


class Live:
    """The shared reader. Watchers live in the event loop; polling runs in its own thread."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.samples = Samples()
        self.looks = 0
        """Number of polls for watchers, to measure the cost of watching."""
        self._lock = threading.Lock()
        self._tasks: dict[str, Watched] = {}
        self._lists: set[Watcher[ListMoment]] = set()
        self._listed = ListedTasks(store)
        self._over = threading.Event()
        self._wake = threading.Event()
        self._due = False
        """Whether a change may have been missed, so that a failed poll is repeated."""
        self._checked_at = 0.0
        self._good_at = datetime.now(UTC)
        self._looking_since: float | None = None
        self._has_failed = False
        self._lock_of_database = WriteLock(store.database)
        self._lock_asked_at = -ASKED_SECONDS
        self._thread = threading.Thread(target=self._keep_running, name="live", daemon=True)

    def start(self) -> None:
        """Start polling."""
        self._thread.start()

    def close(self) -> None:
        """End all watchers and stop polling."""
        self._over.set()
        self._wake.set()
        with self._lock:
            for watched in self._tasks.values():
                for watcher in watched.watchers:
                    watcher.close()
            for listing in self._lists:
                listing.close()

    def join(self) -> None:
        """Wait until the thread has ended."""
        if self._thread.is_alive():
            self._thread.join(5)

    def watch(self, task_id: str, token: str | None = None) -> Watcher[Moment]:
        """Watch one task; the first update is its current state."""
        watcher: Watcher[Moment] = Watcher(token=token)
        with self._lock:
            watched = self._tasks.setdefault(task_id, Watched())
            watched.watchers.add(watcher)
            if watched.last is not None:
                watcher.offer(replace(watched.last, events=(), changed=None))
            if self._over.is_set():
                watcher.close()
        self._wake.set()
        return watcher

    def unwatch(self, task_id: str, watcher: Watcher[Moment]) -> None:
        """Stop watching the task."""
        with self._lock:
            watched = self._tasks.get(task_id)
            if watched is not None:
                watched.watchers.discard(watcher)
                if not watched.watchers:
                    del self._tasks[task_id]

    def watch_list(self, owner: str | None, ids: Iterable[str] = (), token: str | None = None) -> Watcher[ListMoment]:
        """Watch all tasks of one owner or of all; ``ids`` are those on display, which may change without an event."""
        watcher: Watcher[ListMoment] = Watcher(owner, ids, token)
        with self._lock:
            self._lists.add(watcher)
            if self._over.is_set():
                watcher.close()
        self._wake.set()
        return watcher

    def unwatch_list(self, watcher: Watcher[ListMoment]) -> None:
        """Stop watching the list."""
        with self._lock:
            self._lists.discard(watcher)

    @property
    def lost_since(self) -> datetime | None:
        """Time of the last successful poll if the database cannot be read; None if it can."""
        since = self._looking_since
        is_silent = since is not None and time.monotonic() - since > SILENT_SECONDS
        return self._good_at if self._has_failed or is_silent else None

    @property
    def locked_since(self) -> datetime | None:
        """Time since SQLite's write lock is held; None if it is free or was taken only recently.

        The lock is checked only as long as this is called.
        """
        self._lock_asked_at = time.monotonic()
        seconds = self._lock_of_database.held_seconds
        return datetime.now(UTC) - timedelta(seconds=seconds) if seconds > LOCKED_SECONDS else None

    async def follow(self, watcher: Watcher[New], *, locks: bool = False) -> AsyncGenerator[New | DatabaseLost, None]:
        """Yield a watcher's updates, and whether the database is lost, until the watcher ends.

        With ``locks``, also whether the write lock is held.
        """
        told: datetime | None = None
        is_locked = False
        while True:
            lost = self.lost_since
            locked = self.locked_since if locks else None
            if (locked is not None) != is_locked:
                is_locked = locked is not None
                yield Locked(locked)
            if (lost is None) != (told is None):
                told = lost
                yield DatabaseLost(lost)
            try:
                async with asyncio.timeout(TOLD_SECONDS):
                    moment = await watcher.next()
            except TimeoutError:
                continue
            if moment is None:
                return
            if told is not None:
                # The update was read, so the database is back: report that first, even if the stream ends with this update.
                told = None
                yield DatabaseLost(None)
            yield moment

    @property
    def watchers(self) -> int:
        """Number of watchers."""
        with self._lock:
            return len(self._lists) + sum(len(watched.watchers) for watched in self._tasks.values())

    def _keep_running(self) -> None:
        """Keep the thread running: if it ended, open pages would get no updates."""
        keep_running(self._run, self._over, lambda: "live", "poll for updates")

    def _run(self) -> None:
        hints = Hints(self.store.database)
        try:
            pause = INTERVAL_SECONDS
            while not self._over.is_set():
                self._wake.wait(pause)
                self._wake.clear()
                self._looking_since = time.monotonic()
                pause = self._look_around(hints)
                self._is_back()
                self._looking_since = None
        except BaseException:
            self._has_failed = True
            self._looking_since = None
            raise
        finally:
            hints.close()
            self._lock_of_database.close()

    def _is_back(self) -> None:
        """Record that the database was read, before the watchers get what was read."""
        self._good_at = datetime.now(UTC)
        self._has_failed = False
        self._looking_since = time.monotonic()

    def _look_around(self, hints: Hints) -> float:
        """Poll if something may have changed; return the pause."""
        started = time.monotonic()
        self.samples.take(self.store, started)
        if started - self._lock_asked_at < ASKED_SECONDS:
            self._lock_of_database.probe()
        self._turn_out(started)
        self._due = self._due or not self.watchers or self._somebody_is_new() or self._may_have_changed(hints)
        if self._due:
            started = time.monotonic()
            self._look(started)
            self._due = False
        return pause_after(time.monotonic() - started) if self.watchers else SAMPLE_SECONDS

    def _may_have_changed(self, hints: Hints) -> bool:
        """On SQLite the hint signals every commit; on PostgreSQL only new work, so polling is needed."""
        return hints.wait(self._over, INTERVAL_SECONDS) or not hints.tells_all

    def _somebody_is_new(self) -> bool:
        with self._lock:
            unseen = any(watched.last is None for watched in self._tasks.values())
            return unseen or any(watcher.is_new for watcher in self._lists)

    def _turn_out(self, now: float) -> None:
        """End the streams whose token was revoked or has expired."""
        if now - self._checked_at < CHECK_SECONDS:
            return
        self._checked_at = now
        with self._lock:
            watchers: list[Watcher[Any]] = [*self._lists]
            watchers += [one for watched in self._tasks.values() for one in watched.watchers]
        if not watchers:
            return
        held = {watcher.token for watcher in watchers if watcher.token is not None}
        with self.store.read() as tx:
            # Runs even if no token is in use: on SQLite it is the only query while nothing changes, and shows whether the
            # database is reachable.
            lost = held - tx.tokens.valid(held)
        for watcher in watchers:
            if watcher.token in lost:
                watcher.close()

    def _look(self, now: float) -> None:
        with self._lock:
            wanted = dict(self._tasks)
            lists = list(self._lists)
        if not lists:
            self._listed.forget()
        if not lists and not wanted:
            return
        self.looks += 1
        with self.store.read() as tx:
            if wanted:
                self._look_at_tasks(tx, wanted, now)
            if lists:
                self._listed.look(tx, lists, now, self._is_back)

    def _look_at_tasks(self, tx: Transaction, wanted: dict[str, Watched], now: float) -> None:
        rows = {row.id: row for row in tx.tasks.by_ids(list(wanted))}
        busy = [row for row in rows.values() if not wanted[row.id].is_at_rest(row, now)]
        views = {task.id: task for task in view(self.store, tx, busy)}
        for id_, watched in wanted.items():
            if id_ not in rows:
                self._publish(watched, Moment(None), now)
            elif id_ in views:
                new = self._new_events(tx, rows[id_].number, watched)
                self._publish(watched, _moment(views[id_], new, cells_of(tx, rows[id_]), watched, now), now)

    def _new_events(self, tx: Transaction, number: int, watched: Watched) -> tuple[Event, ...]:
        if watched.last is None:
            recent = tx.events.latest_of(number, limit=LATE_EVENTS)
            watched.newest = recent[0].id if recent else 0
            watched.seen = {event.id for event in recent}
            return ()
        found = tx.events.of(number, max(0, watched.newest - LATE_EVENTS), LATE_EVENTS + MOST_EVENTS)
        new = tuple(event for event in found if event.id not in watched.seen)
        watched.newest = max([watched.newest, *(event.id for event in new)])
        watched.seen = {event.id for event in found if event.id > watched.newest - LATE_EVENTS}
        return new

    def _publish(self, watched: Watched, moment: Moment, now: float) -> None:
        with self._lock:
            before, watched.last = watched.last, moment
            quiet = before is not None and not moment.events and moment.changed == {}
            if before is not None and quiet and before.task == moment.task:
                return
            watched.moved_at = now
            self._is_back()
            for watcher in watched.watchers:
                watcher.offer(moment)


def pause_after(seconds: float) -> float:
    """Pause after a poll of this duration.

    A poll that the database did not answer says nothing about the cost of polling, so it gets no longer pause.
    """
    return max(INTERVAL_SECONDS, seconds * LOAD) if seconds <= SILENT_SECONDS else SILENT_SECONDS


def _moment(task: Task, events: tuple[Event, ...], cells: Cells, watched: Watched, now: float) -> Moment:
    before = watched.last.cells if watched.last is not None else None
    changed = None
    if before is not None and (before.stage, before.total, before.width) == (cells.stage, cells.total, cells.width):
        pairs = zip(before.letters, cells.letters, strict=True)
        changed = {at: new for at, (old, new) in enumerate(pairs) if old != new}
    return Moment(task, events, cells, changed, watched.pace.seconds_left(task, now))
