"""Finds the next moment at which something is due, so that the clock of a test can advance to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.model.item import HELD_FROM
from fanfold.model.lifecycle import TIMED_ITEMS, TaskState
from fanfold.store.rows.tasks import Filter
from fanfold.store.store import Store, Transaction
from fanfold.testing.clock import Clock

MOST_ROWS = 1_000
"""Most tasks of a state, and schedules, that are read."""


class DueMoments:
    """The moments at which items, tasks and schedules of a test are due, in seconds from now."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._awaiting: set[int] = set()
        """Items that wait for subtasks. Only the end of a subtask makes them due: if they look by themselves, it is in vain."""

    def note(self, settled: Iterable[Settlement]) -> None:
        """Remember which of these items wait for subtasks."""
        for one in settled:
            (self._awaiting.add if one.awaits else self._awaiting.discard)(one.claimed.id)

    def item(self, as_of_poll: float | None) -> float | None:
        """When the next item is due that does not wait for a subtask; ``as_of_poll`` is when any item is."""
        if as_of_poll is None or not self._awaiting:
            return as_of_poll
        with self._store.read() as tx:
            return self._soonest(_timed_items(tx, self._awaiting))

    def start(self) -> float | None:
        """When the next task with a start time starts."""
        with self._store.read() as tx:
            if tx.schedules.seconds_to_next() is None:
                return None
            waiting = tx.tasks.find(Filter((TaskState.WAITING.value,), limit=MOST_ROWS))
            return self._soonest(row.start_at for row in waiting if row.start_at is not None)

    def schedule(self) -> float | None:
        """The next due time of a schedule."""
        with self._store.read() as tx:
            rows = tx.schedules.all(None, MOST_ROWS)
        times = (row.next_at for row in rows if row.next_at is not None and not row.paused)
        return self._soonest(at for at in times if at > self._clock.now)

    def _soonest(self, moments: Iterable[datetime]) -> float | None:
        return min(((moment - self._clock.now).total_seconds() for moment in moments), default=None)


def _timed_items(tx: Transaction, without: set[int]) -> Iterator[datetime]:
    """When items of active tasks are due that back off or wait, except for held ones and those in ``without``."""
    states = [state.value for state in TIMED_ITEMS]
    for task in tx.tasks.find(Filter((TaskState.ACTIVE.value,), limit=MOST_ROWS)):
        after = 0
        while rows := tx.reading.page(task.number, states=states, after=after, limit=MOST_ROWS, bodies=False):
            after = rows[-1].id
            for row in rows:
                if row.id not in without and row.available_at is not None and row.available_at < HELD_FROM:
                    yield row.available_at
