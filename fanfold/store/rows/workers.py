"""Who is working? Workers and their heartbeats, and the permits that bound work across all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from fanfold.store.dialects.clock import Clock
from fanfold.store.schema.tables import ACTIVE, RUNNING, items, limits, permits, tasks, workers
from fanfold.store.upgrade import revisions

STALE_AT_ONCE = 2_000


@dataclass(frozen=True)
class Report:
    """What a worker says of itself with each sign of life; done, failed and busy are of the last minute."""

    running: int = 0
    stopping: bool = False
    done: int = 0
    failed: int = 0
    busy_seconds: float = 0.0
    swept_ago: float | None = None
    """Seconds since its sweep last ran without an error; None says nothing new."""


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
    """The newest revision of the database that its code knows; workers of the first versions do not tell."""
    swept_at: datetime | None = None
    """When its sweep last ran without an error, as of its last sign of life; older workers do not tell."""


class Workers:
    """Verbs on workers, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
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
        """A sign of life: one write per worker, whatever it holds. False when it came too late: the leases are lost."""
        living = workers.c.seen_at > self.clock.before(lease_seconds)
        values = asdict(report)
        swept_ago = values.pop("swept_ago")
        if swept_ago is not None:
            values["swept_at"] = self.clock.before(swept_ago)
        seen = sa.update(workers).where(workers.c.id == worker, living).values(**values, seen_at=self.clock.now)
        return self.connection.execute(seen).rowcount == 1

    def leave(self, worker: str) -> None:
        """A worker ends in peace."""
        self.connection.execute(sa.delete(workers).where(workers.c.id == worker))

    def forget_dead(self, seconds: float) -> None:
        """Drop workers not seen for long."""
        self.connection.execute(sa.delete(workers).where(workers.c.seen_at < self.clock.before(seconds)))

    def held(self, worker: str) -> dict[int, tuple[int, bool]]:
        """What the database thinks the worker runs: item → (lease, whether its task still wants it)."""
        wanted = sa.and_(ACTIVE, tasks.c.stage == items.c.stage)
        rows = self.connection.execute(
            sa.select(items.c.id, items.c.lease, wanted.label("wanted"))
            .join(tasks, tasks.c.number == items.c.task)
            .where(RUNNING, items.c.worker == worker)
        )
        return {row.id: (row.lease, bool(row.wanted)) for row in rows}

    def all(self, lease_seconds: float) -> list[WorkerRow]:
        """Every known worker, the living first."""
        alive = (workers.c.seen_at > self.clock.before(lease_seconds)).label("alive")
        rows = self.connection.execute(sa.select(workers, alive).order_by(sa.desc("alive"), workers.c.started_at))
        return [WorkerRow(**_shaped(row)) for row in rows]

    def free_places(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """How many more items each of these limits across all workers allows, given their sizes.

        Their rows stay locked, so that two claims cannot both count. One statement makes and locks them, by name: a row that
        another claim has just made is locked in its turn, too, and no two claims wait for each other. A row is written only when
        it is new: a write that says nothing new would wake every worker on SQLite, this one included, which would then ask
        again, and so on for as long as the limit is reached.
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
        """A permit for each item just claimed, owned by item and lease: it ends with the attempt, however that ends."""
        if ids:
            chosen = sa.select(items.c.id, items.c.lease, sa.literal(name)).where(items.c.id.in_(ids))
            made = self.clock.dialect.insert(permits).from_select(["item", "lease", "name"], chosen)
            new = {"lease": made.excluded.lease, "name": made.excluded.name}
            self.connection.execute(made.on_conflict_do_update(index_elements=["item"], set_=new))

    def drop_stale_permits(self) -> int:
        """Remove permits whose item no longer runs under their lease, a bounded number of them; returns how many."""
        running = sa.select(items.c.id).where(items.c.id == permits.c.item, items.c.lease == permits.c.lease, RUNNING)
        stale = sa.select(permits.c.item).where(~sa.exists(running.correlate(permits))).limit(STALE_AT_ONCE)
        return self.connection.execute(sa.delete(permits).where(permits.c.item.in_(stale))).rowcount


def _shaped(row: sa.Row[Any]) -> dict[str, Any]:
    values = dict(row._mapping)
    return values | {
        "serves": tuple((pair[0], pair[1]) for pair in json.loads(row.serves)),
        "alive": bool(row.alive),
        "stopping": bool(row.stopping),
    }
