"""Queries of the doctor: looks for stuck work. Read-only."""

from __future__ import annotations

import sqlalchemy as sa

from fanfold.model.lifecycle import TaskState
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.tables import (
    HELD,
    OF_TASKS,
    OPEN,
    RUNNING,
    deleted_tasks,
    duties,
    item_data,
    items,
    permits,
    tasks,
    workers,
)


class HealthChecks:
    """Queries about the whole installation, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def standing(self) -> dict[tuple[str, str], int]:
        """Active tasks with open items per (pipeline, stage)."""
        first = sa.select(items.c.id).where(items.c.task == tasks.c.number, items.c.stage == tasks.c.stage, OPEN)
        probe = first.order_by(items.c.id).limit(1).scalar_subquery()
        counted = (
            sa.select(tasks.c.pipeline, tasks.c.stage, sa.func.count())
            .where(tasks.c.state == TaskState.ACTIVE, probe.is_not(None))
            .group_by(tasks.c.pipeline, tasks.c.stage)
        )
        return {(pipeline, stage): count for pipeline, stage, count in self.connection.execute(counted)}

    def abandoned(self, lease_seconds: float, since: float = 0.0) -> int:
        """Running items whose worker is not alive now and was not alive ``since`` seconds ago."""
        seen = workers.c.seen_at > self.clock.before(lease_seconds + since)
        alive = sa.select(workers.c.id).where(workers.c.id == items.c.worker, seen)
        begun = sa.or_(items.c.started_at <= self.clock.before(since), items.c.started_at.is_(None))
        return self._count(items, RUNNING, begun, ~sa.exists(alive.correlate(items)))

    def overdue(self, seconds: float) -> int:
        """Running items more than ``seconds`` past their deadline."""
        return self._count(items, RUNNING, items.c.deadline_at < self.clock.before(seconds))

    def stale_permits(self) -> int:
        """Permits whose item no longer runs under the permit's lease."""
        running = sa.select(items.c.id).where(items.c.id == permits.c.item, items.c.lease == permits.c.lease, RUNNING)
        return self._count(permits, ~sa.exists(running.correlate(permits)))

    def held(self) -> int:
        """Active tasks with items that wait for a person."""
        standing = sa.and_(tasks.c.number == items.c.task, tasks.c.stage == items.c.stage)
        found = sa.select(sa.func.count(sa.distinct(items.c.task))).join(tasks, standing)
        return int(self.connection.execute(found.where(HELD, tasks.c.state == TaskState.ACTIVE)).scalar_one())

    def orphans(self) -> dict[str, int]:
        """Rows without an owner, by table. Rows of tasks that are still being deleted do not count."""
        found = {}
        for table in OF_TASKS:
            owner = sa.select(tasks.c.number).where(tasks.c.number == table.c.task)
            deleting = sa.select(deleted_tasks.c.task).where(deleted_tasks.c.task == table.c.task)
            lost = (~sa.exists(owner.correlate(table)), ~sa.exists(deleting.correlate(table)))
            found[table.name] = self._count(table, *lost)
        item = sa.select(items.c.id).where(items.c.id == item_data.c.item)
        found[item_data.name] = self._count(item_data, ~sa.exists(item.correlate(item_data)))
        return {name: count for name, count in found.items() if count}

    def deletions(self, seconds: float) -> int:
        """Tasks deleted more than ``seconds`` ago that still have rows."""
        return self._count(deleted_tasks, deleted_tasks.c.deleted_at < self.clock.before(seconds))

    def swept_ago(self) -> float | None:
        """Seconds since a worker or tick last swept for lost items; None if none ever did."""
        ran_at = sa.select(duties.c.ran_at).where(duties.c.name == "recover").scalar_subquery()
        found = self.connection.execute(sa.select(self.clock.seconds_since(ran_at))).scalar()
        return None if found is None else float(found)

    def _count(self, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
        return int(
            self.connection.execute(sa.select(sa.func.count()).select_from(table).where(*conditions)).scalar_one()
        )
