"""What was new at one look? Moments of a task and of the list, those who wait for them, and the pace that looks show."""

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
    """What is new of one task; ``task`` is None when it was deleted."""

    task: Task | None
    events: tuple[Event, ...] = ()
    cells: Cells | None = None
    changed: dict[int, str] | None = None
    """The cells that changed, by position; None when all of them have to be drawn again."""
    seconds_left: float | None = None

    def followed_by(self, later: Moment) -> Moment:
        """Both in one, for a watcher who was not quick enough to take the first."""
        both = None if self.changed is None or later.changed is None else self.changed | later.changed
        return replace(later, events=(self.events + later.events)[-MOST_EVENTS:], changed=both)


@dataclass(frozen=True)
class ListMoment:
    """The tasks that changed, and the ids of those that are gone."""

    tasks: dict[str, Task]
    gone: frozenset[str] = frozenset()
    seconds_left: dict[str, float | None] = field(default_factory=dict)
    newest: int = 0
    """The id of the newest event that is in it."""

    def followed_by(self, later: ListMoment) -> ListMoment:
        """Both in one."""
        return ListMoment(
            {id_: task for id_, task in self.tasks.items() if id_ not in later.gone} | later.tasks,
            self.gone | later.gone,
            self.seconds_left | later.seconds_left,
            later.newest,
        )


@dataclass(frozen=True)
class DatabaseLost:
    """The database cannot be read; what is known is from ``since``. None says that it can be read again."""

    since: datetime | None


@dataclass(frozen=True)
class Locked(DatabaseLost):
    """The database can be read, but somebody has held its write lock since then. None says that it is free again."""


New = TypeVar("New", Moment, ListMoment)


class Watcher(Generic[New]):
    """One who watches: takes what is new when there is something, all of it at once."""

    def __init__(self, owner: str | None = None, ids: Iterable[str] = (), token: str | None = None) -> None:
        self.owner = owner
        self.token = token
        self.is_closed = False
        """Whether there will be nothing more; known at once, in any thread."""
        self.ids = frozenset(ids)
        self.is_new = True
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._waiting: New | None = None
        self._closed = False

    async def next(self) -> New | None:
        """What is new, as soon as there is something; None when there will be nothing more."""
        await self._news.wait()
        taken, self._waiting = self._waiting, None
        if not self._closed:
            self._news.clear()
        return taken

    def offer(self, new: New) -> None:
        """Tell it; may be called from any thread."""
        self._later(self._take, new)

    def close(self) -> None:
        """There will be nothing more; may be called from any thread."""
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


class Pace:
    """How fast items are settled, by the looks of the last minute."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int, str]] = deque()

    def seconds_left(self, task: Task, now: float) -> float | None:
        """How long the open items will take at this pace; None as long as it cannot be told."""
        settled = task.done + task.failed
        if self._seen and (self._seen[-1][2] != task.stage or self._seen[-1][1] > settled):
            self._seen.clear()
        self._seen.append((now, settled, task.stage))
        while len(self._seen) > 2 and now - self._seen[0][0] > PACE_SECONDS:
            self._seen.popleft()
        return estimate(task.open, settled - self._seen[0][1], now - self._seen[0][0]) or seconds_left(task)


def seconds_left(task: Task) -> float | None:
    """How long the open items will take at the pace since the start; None when it cannot be told."""
    if task.state is not TaskState.ACTIVE or task.started_at is None or task.total <= 1:
        return None
    return estimate(task.open, task.done + task.failed, (datetime.now(UTC) - task.started_at).total_seconds())


def estimate(left: int, settled: int, seconds: float) -> float | None:
    """What is left, at the pace of what was settled in so many seconds."""
    return left * seconds / settled if left and settled > 0 and seconds > 1 else None
