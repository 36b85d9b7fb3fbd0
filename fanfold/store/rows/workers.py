"""Stores workers with their heartbeats, and the permits that limit concurrency across all workers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.statements import fetch, run
from fanfold.store.schema.tables import ACTIVE, RUNNING, items, limits, permits, tasks, workers
from fanfold.store.upgrade import revisions

STALE_AT_ONCE = 2_000


@dataclass(frozen=True)
class Report:
    """What a worker reports with each heartbeat; done, failed and busy cover the last minute."""

    running: int = 0
    stopping: bool = False
    done: int = 0
    failed: int = 0
    busy_seconds: float = 0.0
    swept_ago: float | None = None
    """Seconds since its sweep last ran without an error; None if nothing is new."""


@dataclass(frozen=True)
class WorkerRow:
    """A worker as others see it."""

    id: str
    host: str
    pid: int
    serves: tuple[tuple[str, str], ...]
    concurrency: int
    running: int
    stopping: bool
    done: int
    failed: int
    busy_seconds: float
    started_at: datetime
    seen_at: datetime
    alive: bool
    revision: str | None = None
    """Newest database revision that its code knows; None for workers of the first versions."""
    swept_at: datetime | None = None
    """When its sweep last ran without an error, as of its last heartbeat; None for older workers."""


class Workers:
    """Verbs on workers, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def register(self, worker: str, host: str, pid: int, serves: Sequence[tuple[str, str]], concurrency: int) -> None:
        """Register a worker. Safe to repeat if the first reply was lost."""
        values = {"id": worker, "host": host, "pid": pid, "serves": json.dumps(serves), "concurrency": concurrency}
        values["revision"] = revisions.NEWEST
        quiet = {"running": 0, "stopping": False, "done": 0, "failed": 0, "busy_seconds": 0.0}
        times = {"started_at": self.clock.now, "seen_at": self.clock.now}
        made = self.clock.dialect.insert(workers).values(**values, **quiet, **times)
        self.connection.execute(made.on_conflict_do_update(index_elements=["id"], set_={"seen_at": self.clock.now}))

    def beat(self, worker: str, report: Report, lease_seconds: float) -> bool:
        """Heartbeat: one write per worker, however many items it holds. False if it came too late: the leases are lost."""
        living = workers.c.seen_at > self.clock.before(lease_seconds)
        values = asdict(report)
        swept_ago = values.pop("swept_ago")
        if swept_ago is not None:
            values["swept_at"] = self.clock.before(swept_ago)
        seen = sa.update(workers).where(workers.c.id == worker, living).values(**values, seen_at=self.clock.now)
        return self.connection.execute(seen).rowcount == 1

    def leave(self, worker: str) -> None:
        """Remove a worker that ends normally."""
        self.connection.execute(sa.delete(workers).where(workers.c.id == worker))

    def forget_dead(self, seconds: float) -> None:
        """Remove workers not seen for ``seconds``."""
        self.connection.execute(sa.delete(workers).where(workers.c.seen_at < self.clock.before(seconds)))

    def held(self, worker: str) -> dict[int, tuple[int, bool]]:
        """Items that the worker runs according to the database: item → (lease, whether its task still wants it)."""
        found = run(self.connection, HELD_BY_WORKER, {"worker_id": worker})
        return {item: (lease, bool(wanted)) for item, lease, wanted in found}

    def all(self, lease_seconds: float) -> list[WorkerRow]:
        """Every known worker, live ones first."""
        rows = fetch(self.connection, all_statement(self.clock), {"lease_seconds": lease_seconds})
        return [_worker(row) for row in rows]

    def count_alive(self, lease_seconds: float) -> int:
        """How many workers are alive. Reads them all."""
        alive = sa.select(sa.func.count()).where(workers.c.seen_at > self.clock.before(lease_seconds))
        return int(self.connection.execute(alive).scalar_one())

    def free_places(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """How many more items each of these limits across all workers allows, given their sizes.

        The rows stay locked, so that two claims cannot both count. One statement creates and locks them in name order,
        including rows that another claim has just created, so that no two claims deadlock. Only new rows are written: on
        SQLite any write wakes every worker, this one included, and they would poll in a loop while the limit is reached.
        """
        if not sizes:
            return {}
        made = self.clock.dialect.insert(limits).values([{"name": name, "size": sizes[name]} for name in sorted(sizes)])
        is_new = limits.c.size != made.excluded.size
        self.connection.execute(
            made.on_conflict_do_update(index_elements=["name"], set_={"size": made.excluded.size}, where=is_new)
        )
        counted = sa.select(permits.c.name, sa.func.count().label("taken")).where(permits.c.name.in_(list(sizes)))
        taken = {row.name: row.taken for row in self.connection.execute(counted.group_by(permits.c.name))}
        return {name: max(0, size - int(taken.get(name, 0))) for name, size in sizes.items()}

    def grant(self, name: str, ids: Sequence[int]) -> None:
        """Grant a permit to each item just claimed. It belongs to item and lease, so it always ends with the attempt."""
        if ids:
            chosen = sa.select(items.c.id, items.c.lease, sa.literal(name)).where(items.c.id.in_(ids))
            made = self.clock.dialect.insert(permits).from_select(["item", "lease", "name"], chosen)
            new = {"lease": made.excluded.lease, "name": made.excluded.name}
            self.connection.execute(made.on_conflict_do_update(index_elements=["item"], set_=new))

    def drop_stale_permits(self) -> int:
        """Remove a bounded number of permits whose item no longer runs under the permit's lease; returns how many."""
        running = sa.select(items.c.id).where(items.c.id == permits.c.item, items.c.lease == permits.c.lease, RUNNING)
        stale = sa.select(permits.c.item).where(~sa.exists(running.correlate(permits))).limit(STALE_AT_ONCE)
        return self.connection.execute(sa.delete(permits).where(permits.c.item.in_(stale))).rowcount


COLUMNS = (*(column.name for column in workers.c), "alive")
HELD_BY_WORKER = (
    sa.select(items.c.id, items.c.lease, sa.and_(ACTIVE, tasks.c.stage == items.c.stage))
    .join(tasks, tasks.c.number == items.c.task)
    .where(RUNNING, items.c.worker == sa.bindparam("worker_id"))
)


@lru_cache(maxsize=64)
def all_statement(clock: SqlClock) -> sa.Select[Any]:
    """Every worker and whether it is alive, live ones first."""
    alive = (workers.c.seen_at > clock.before(sa.bindparam("lease_seconds", type_=sa.Float))).label("alive")
    return sa.select(workers, alive).order_by(sa.desc("alive"), workers.c.started_at)


def _worker(row: Sequence[Any]) -> WorkerRow:
    values = dict(zip(COLUMNS, row, strict=True))
    serves = tuple((pair[0], pair[1]) for pair in json.loads(values["serves"]))
    return WorkerRow(
        **values | {"serves": serves, "alive": bool(values["alive"]), "stopping": bool(values["stopping"])}
    )
