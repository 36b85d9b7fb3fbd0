"""What if a worker is gone? Single statements, each with its own condition, that any process may run at any time."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from fanfold.model.lifecycle import ItemState
from fanfold.store.clock import Clock
from fanfold.store.settling import crash_values
from fanfold.store.tables import ACTIVE, OPEN, RUNNING, duties, items, tasks, workers


@dataclass(frozen=True)
class Lost:
    """An item taken back from a worker that died or hangs."""

    id: int
    lease: int
    task: int
    stage: str
    key: str
    state: str


class Recovery:
    """Verbs of the sweep, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock

    def take_duty(self, name: str, interval: float) -> bool:
        """Whether this process may run the duty now: at most one does per interval, and none can hold it up."""
        taken = (
            sa.update(duties)
            .where(duties.c.name == name, duties.c.ran_at <= self.clock.before(interval))
            .values(ran_at=self.clock.now)
        )
        if self.connection.execute(taken).rowcount:
            return True
        if self.connection.execute(sa.select(duties.c.name).where(duties.c.name == name)).first():
            return False
        return self._first_time(name)

    def _first_time(self, name: str) -> bool:
        insert = postgresql.insert if self.clock.dialect == "postgresql" else sqlite.insert
        made = insert(duties).values(name=name, ran_at=self.clock.now).on_conflict_do_nothing().returning(duties.c.name)
        return self.connection.execute(made).first() is not None

    def reclaim_dead(self, lease_seconds: float, limit: int) -> list[Lost]:
        """running → pending (or failed, at the crash limit) for items whose worker was not seen for the lease's time."""
        alive = sa.select(workers.c.id).where(
            workers.c.id == items.c.worker, workers.c.seen_at > self.clock.before(lease_seconds)
        )
        return self._reclaim(~sa.exists(alive.correlate(items)), limit)

    def reclaim_hung(self, grace_seconds: float, limit: int) -> list[Lost]:
        """The same for items far past their deadline: their worker lives, but no longer watches them."""
        return self._reclaim(items.c.deadline_at < self.clock.before(grace_seconds), limit)

    def release_idle(self, grace_seconds: float) -> list[Lost]:
        """running → pending, unharmed, where the task no longer wants it and the worker did not hand it back."""
        standing = sa.select(tasks.c.number).where(
            tasks.c.number == items.c.task, ACTIVE, tasks.c.stage == items.c.stage
        )
        stale = sa.and_(items.c.started_at < self.clock.before(grace_seconds), ~sa.exists(standing.correlate(items)))
        values = {"state": ItemState.PENDING.value, "worker": None, "deadline_at": None}
        return self._returned(sa.update(items).where(RUNNING, stale).values(values))

    def unclosed(self, limit: int) -> list[int]:
        """Active tasks whose stage is over and that nobody has advanced: a worker died between its commit and its probe."""
        first = (
            sa.select(items.c.state)
            .where(items.c.task == tasks.c.number, items.c.stage == tasks.c.stage, OPEN)
            .order_by(items.c.state)
            .limit(1)
        )
        found = sa.select(tasks.c.number).where(ACTIVE, first.scalar_subquery().is_(None)).limit(limit)
        return list(self.connection.execute(found).scalars())

    def _reclaim(self, gone: sa.ColumnElement[bool], limit: int) -> list[Lost]:
        return self._returned(sa.update(items).where(RUNNING, gone).values(crash_values(self.clock, limit)))

    def _returned(self, statement: sa.Update) -> list[Lost]:
        columns = (items.c.id, items.c.lease, items.c.task, items.c.stage, items.c.seq, items.c.key, items.c.state)
        rows = self.connection.execute(statement.returning(*columns))
        return [Lost(row.id, row.lease, row.task, row.stage, row.key or str(row.seq), row.state) for row in rows]
