"""Updates found by one poll, for a task and for the list, their watchers, and the pace of a task."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Generic, TypeVar

from fanfold.model.lifecycle import TaskState
from fanfold.model.task import Cells, Event, Task

MOST_EVENTS = 1_000
PACE_SECONDS = 60.0


@dataclass(frozen=True)
class Moment:
    """An update of one task; ``task`` is None if it was deleted."""

    task: Task | None
    events: tuple[Event, ...] = ()
    cells: Cells | None = None
    changed: dict[int, str] | None = None
    """Changed cells by position; None if all must be redrawn."""
    seconds_left: float | None = None

    def followed_by(self, later: Moment) -> Moment:
        """Both updates in one, for a watcher that has not taken the first yet."""
        both = None if self.changed is None or later.changed is None else self.changed | later.changed
        return replace(later, events=(self.events + later.events)[-MOST_EVENTS:], changed=both)


@dataclass(frozen=True)
class ListMoment:
    """Changed tasks and the ids of deleted ones."""

    tasks: dict[str, Task]
    gone: frozenset[str] = frozenset()
    seconds_left: dict[str, float | None] = field(default_factory=dict)
    newest: int = 0
    """Id of the newest event included."""

    def followed_by(self, later: ListMoment) -> ListMoment:
        """Both updates in one."""
        return ListMoment(
            {id_: task for id_, task in self.tasks.items() if id_ not in later.gone} | later.tasks,
            self.gone | later.gone,
            self.seconds_left | later.seconds_left,
            later.newest,
        )


@dataclass(frozen=True)
class DatabaseLost:
    """The database cannot be read since ``since``. None means that it can be read again."""

    since: datetime | None


@dataclass(frozen=True)
class Locked(DatabaseLost):
    """The database can be read, but its write lock is held since ``since``. None means that it is free again."""


New = TypeVar("New", Moment, ListMoment)


class Watcher(Generic[New]):
    """Receives updates for one stream, merging those not yet taken."""

    def __init__(self, owner: str | None = None, ids: Iterable[str] = (), token: str | None = None) -> None:
        self.owner = owner
        self.token = token
        self.is_closed = False
        """Whether the watcher has ended; readable from any thread."""
        self.ids = frozenset(ids)
        self.is_new = True
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._waiting: New | None = None
        self._closed = False

    async def next(self) -> New | None:
        """Wait for the next update; None when the watcher has ended."""
        await self._news.wait()
        taken, self._waiting = self._waiting, None
        if not self._closed:
            self._news.clear()
        return taken

    def offer(self, new: New) -> None:
        """Deliver an update; may be called from any thread."""
        self._later(self._take, new)

    def close(self) -> None:
        """End the watcher; may be called from any thread."""
        self.is_closed = True
        self._later(self._end)

    def _later(self, function: object, *arguments: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)  # type: ignore[arg-type]

    def _take(self, new: New) -> None:
        self._waiting = new if self._waiting is None else self._waiting.followed_by(new)
        self._news.set()

    def _end(self) -> None:
        self._closed = True
        self._news.set()


class SettledRate:
    """Rate of settled items over the polls of the last minute."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int, str]] = deque()

    def seconds_left(self, task: Task, now: float) -> float | None:
        """Estimated time for the open items at this pace; None until it can be estimated."""
        settled = task.done + task.failed
        if self._seen and (self._seen[-1][2] != task.stage or self._seen[-1][1] > settled):
            self._seen.clear()
        self._seen.append((now, settled, task.stage))
        while len(self._seen) > 2 and now - self._seen[0][0] > PACE_SECONDS:
            self._seen.popleft()
        return estimate(task.open, settled - self._seen[0][1], now - self._seen[0][0]) or seconds_left(task)


def seconds_left(task: Task) -> float | None:
    """Estimated time for the open items at the pace since the start; None if it cannot be estimated."""
    if task.state is not TaskState.ACTIVE or task.started_at is None or task.total <= 1:
        return None
    return estimate(task.open, task.done + task.failed, (datetime.now(UTC) - task.started_at).total_seconds())


def estimate(left: int, settled: int, seconds: float) -> float | None:
    """Time for ``left`` items at the pace of ``settled`` items in ``seconds``."""
    return left * seconds / settled if left and settled > 0 and seconds > 1 else None
