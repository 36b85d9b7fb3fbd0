"""Recovers items of lost workers, with single statements that check their own condition: any process may run them any time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa

from fanfold.store.dialects.dialect import Dialect
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.crashes import crash_values, note_crashes
from fanfold.store.items.pending import HANDED_BACK
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import ACTIVE, DUE_SOME_TIME, OPEN, RUNNING, TIMED, duties, items, tasks, workers

AT_ONCE = 300
"""Most items reclaimed or moved in time per transaction: up to six rows each, about 20 ms on SQLite."""
SAME_TIME_SECONDS = 1.0
"""Largest difference between two processes that read the clock at the same time."""


class ClockSetBack(Exception):
    """The clock was set back after a duty last ran."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the clock was set back by {seconds:.0f} s")
        self.seconds = seconds


@dataclass(frozen=True)
class LostItem:
    """An item taken back from a worker that died or hangs."""

    id: int
    lease: int
    task: int
    stage: str
    key: str
    state: str
    crashes: int
    began: bool
    """Whether its handler is known to have begun; otherwise no crash was counted."""


class Recovery:
    """Verbs of the sweep, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def take_duty(self, name: str, interval: float) -> bool:
        """Whether this process may run the duty now. At most one does per interval, and no process can block the others.

        Raises ClockSetBack if the duty last ran in the future, which means that the clock was set back. Times that items
        wait for must be moved back too.
        """
        ahead = self._seconds_ahead(name)
        if ahead is None:
            return self._first_time(name)
        if -ahead >= interval:
            self.connection.execute(sa.update(duties).where(duties.c.name == name).values(ran_at=self.clock.now))
            return True
        if ahead <= max(interval, SAME_TIME_SECONDS):
            return False
        raise ClockSetBack(ahead)

    def may_take_duty(self, name: str, interval: float) -> bool:
        """Whether ``take_duty`` may succeed. A plain read: most workers ask in vain, and a lock on one row would queue them."""
        ran = sa.select(self.clock.seconds_since(duties.c.ran_at)).where(duties.c.name == name)
        since = self.connection.execute(ran).scalar()
        return since is None or not -max(interval, SAME_TIME_SECONDS) <= since < interval

    def give_back_duty(self, name: str, interval: float) -> None:
        """Make a duty due at once for the next process that asks, unless another process holds it."""
        if self._seconds_ahead(name) is not None:
            due = sa.update(duties).where(duties.c.name == name).values(ran_at=self.clock.before(interval))
            self.connection.execute(due)

    def _seconds_ahead(self, name: str) -> float | None:
        """How far in the future the duty last ran, with its row locked; None if there is no row, or another process has it.

        Nobody waits for the lock. In a fleet of 300 behind a pooler, those who did filled its 20 connections while
        the process that held the lock waited for a processor, and nobody could work.
        """
        ran = sa.select(-self.clock.seconds_since(duties.c.ran_at)).where(duties.c.name == name)
        return self.connection.execute(ran.with_for_update(skip_locked=True)).scalar()

    def ahead_of_time(self) -> list[int]:
        """Items with a time in the future: items waiting for it, and items that started at it."""
        waiting = sa.select(items.c.id).where(DUE_SOME_TIME, items.c.available_at > self.clock.now)
        begun = sa.select(items.c.id).where(RUNNING, items.c.started_at > self.clock.now)
        return sorted(self.connection.execute(sa.union_all(waiting, begun)).scalars())

    def move_back(self, ids: Sequence[int], seconds: float) -> None:
        """Move the times of these items back by as much as the clock; at most AT_ONCE items.

        Times set after the clock changed may become due at once; too early does no harm.
        """
        now, mine = self.clock.now, items.c.id.in_(ids)

        def earlier(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
            ahead = -self.clock.seconds_since(column)
            return sa.case((ahead > seconds, self.clock.after(ahead - seconds)), else_=now)

        timed, running, deadline = items.c.available_at, items.c.started_at, items.c.deadline_at
        self.connection.execute(sa.update(items).where(mine, TIMED, timed > now).values(available_at=earlier(timed)))
        begun = sa.update(items).where(mine, RUNNING, running > now)
        self.connection.execute(begun.where(deadline.is_not(None)).values(deadline_at=earlier(deadline)))
        self.connection.execute(begun.values(started_at=earlier(running)))

    def forget_the_future(self) -> None:
        """Cap the times of workers and duties at now: from here on the clock that was set back counts."""
        now = self.clock.now
        for column in (workers.c.seen_at, workers.c.swept_at, duties.c.ran_at):
            self.connection.execute(sa.update(column.table).where(column > now).values({column.name: now}))

    def _first_time(self, name: str) -> bool:
        """Make the row of a duty; False if there is one, which another process holds. An insert would wait for that one."""
        if self.connection.execute(sa.select(duties.c.name).where(duties.c.name == name)).first() is not None:
            return False
        made = self.clock.dialect.insert(duties).values(name=name, ran_at=self.clock.now).on_conflict_do_nothing()
        return self.connection.execute(made.returning(duties.c.name)).first() is not None

    def see_no_future(self) -> None:
        """Restart the lease of workers last seen in the future, which was before the clock was set back."""
        ahead = workers.c.seen_at > self.clock.after(SAME_TIME_SECONDS)
        self.connection.execute(sa.update(workers).where(ahead).values(seen_at=self.clock.now))

    def anything_runs(self) -> bool:
        """Whether any item is running; if not, there is nothing to take back."""
        return bool(run(self.connection, SOMETHING_RUNS, {}))

    def reclaim_dead(self, lease_seconds: float, limit: int) -> list[LostItem]:
        """running → pending (or failed, at the crash limit) for items whose worker was not seen for the lease time."""
        alive = sa.select(workers.c.id).where(
            workers.c.id == items.c.worker, workers.c.seen_at > self.clock.before(lease_seconds)
        )
        return self._reclaim(~sa.exists(alive.correlate(items)), limit)

    def reclaim_hung(self, grace_seconds: float, limit: int) -> list[LostItem]:
        """The same for items far past their deadline: their worker is alive but no longer watches them."""
        return self._reclaim(items.c.deadline_at < self.clock.before(grace_seconds), limit)

    def release_idle(self, grace_seconds: float) -> list[LostItem]:
        """running → pending without a crash counted, for items whose task no longer wants them and whose worker kept them."""
        standing = sa.select(tasks.c.number).where(
            tasks.c.number == items.c.task, ACTIVE, tasks.c.stage == items.c.stage
        )
        then = self.clock.before(grace_seconds)
        # An item claimed ahead has no start time; then the time since the task's last move counts.
        moved = sa.select(tasks.c.number).where(tasks.c.number == items.c.task, tasks.c.updated_at >= then)
        waited = sa.and_(items.c.started_at.is_(None), ~sa.exists(moved.correlate(items)))
        stale = sa.and_(sa.or_(items.c.started_at < then, waited), ~sa.exists(standing.correlate(items)))
        return self._returned(sa.update(items).where(RUNNING, self._some(stale)).values(HANDED_BACK))

    def unclosed(self, limit: int) -> list[int]:
        """Active tasks whose stage is over but not advanced: a worker died between its commit and its probe."""
        return [number for (number,) in run(self.connection, unclosed_statement(), {"most": limit})]

    def unclosed_among(self, numbers: Iterable[int]) -> list[int]:
        """Those of the given tasks for which that is so, in order. One query."""
        found = run(self.connection, unclosed_among_statement(self.clock.dialect), {"ids": list(numbers)})
        return [number for (number,) in found]

    def _reclaim(self, gone: sa.ColumnElement[bool], limit: int) -> list[LostItem]:
        values = crash_values(self.clock, limit)
        lost = self._returned(sa.update(items).where(RUNNING, self._some(gone)).values(values))
        note_crashes(self.connection, sorted(item.id for item in lost if item.began))
        return lost

    def _some(self, condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
        """The first matching items, skipping locked rows: the sweep never waits, and it comes again."""
        free = sa.select(items.c.id).where(RUNNING, condition).limit(AT_ONCE).correlate(None)
        dialect = self.clock.dialect
        if dialect.locks_rows:  # With ORDER BY, SQLite would scan the whole table in that order.
            free = free.order_by(items.c.id).with_for_update(skip_locked=True, key_share=True, of=items)
        return dialect.one_of(items.c.id, free)

    def _returned(self, statement: sa.Update) -> list[LostItem]:
        names = ("id", "lease", "task", "stage", "seq", "key", "state", "crashes")
        columns = [*(items.c[name] for name in names), items.c.started_at.is_not(None).label("began")]
        rows = self.connection.execute(statement.returning(*columns))
        return [
            LostItem(
                row.id, row.lease, row.task, row.stage, row.key or str(row.seq), row.state, row.crashes, bool(row.began)
            )
            for row in rows
        ]


SOMETHING_RUNS = sa.select(items.c.id).where(RUNNING).limit(sa.literal_column("1"))


def _is_unclosed() -> sa.ColumnElement[bool]:
    """The task is active, and it is closed, or its stage, or the sample of its stage, has no open item."""
    mine = sa.select(items.c.state).where(items.c.task == tasks.c.number, items.c.stage == tasks.c.stage, OPEN)
    first = mine.order_by(items.c.state).limit(1).scalar_subquery()
    sampled = mine.where(items.c.seq <= tasks.c.sample).limit(1).scalar_subquery()
    is_over = sa.case(
        (tasks.c.closed_at.is_not(None), sa.true()),
        (tasks.c.sample.is_(None), first.is_(None)),
        else_=sampled.is_(None),
    )
    return sa.and_(ACTIVE, is_over)


@cache
def unclosed_statement() -> sa.Executable:
    """Tasks that may be advanced, in order."""
    found = sa.select(tasks.c.number).where(_is_unclosed()).order_by(tasks.c.number)
    return found.limit(sa.bindparam("most", type_=sa.Integer))


@cache
def unclosed_among_statement(dialect: Dialect) -> sa.Executable:
    """Those of the tasks in the list ``ids``."""
    return sa.select(tasks.c.number).where(dialect.among(tasks.c.number), _is_unclosed()).order_by(tasks.c.number)
