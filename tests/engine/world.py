"""The random world: workers without handlers, a manual clock, and snapshots of the whole database."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from fanfold.engine.tasks.many_items.new_items import NewItems
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.claiming.claim import Claimer
from fanfold.engine.worker.claiming.room import Room
from fanfold.engine.worker.turn import take_turn
from fanfold.model.item import Claimed, NewItem
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.plan import Plan
from fanfold.settings import Settings
from fanfold.store.rows.workers import Report
from fanfold.store.schema import tables
from fanfold.store.store import Store

LONG_AGO = -1e9
NEVER = float("inf")


@dataclass(eq=False)
class Clock:
    """A clock that only a hand turns."""

    time: datetime = datetime(2031, 5, 4, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        """What time it is."""
        return self.time

    def turn(self, seconds: float) -> None:
        """Let time pass."""
        self.time += timedelta(seconds=seconds)


@dataclass(frozen=True)
class Picture:
    """Everything the database says at one moment, rows as mappings."""

    tasks: dict[int, dict[str, Any]]
    items: dict[int, dict[str, Any]]
    events: list[dict[str, Any]]
    permits: list[dict[str, Any]]
    seen_at: dict[str, datetime] = field(compare=False)
    """When each worker was last seen."""

    def of(self, task: int, stage: str | None = None) -> list[dict[str, Any]]:
        """The items of a task, or of one of its stages, in order."""
        found = [item for item in self.items.values() if item["task"] == task and stage in (None, item["stage"])]
        return sorted(found, key=lambda item: (item["stage"], item["seq"]))

    def moves(self, task: int) -> list[dict[str, Any]]:
        """The task's own moves, in order, without the mishaps of its items."""
        return [event for event in self.events if event["task"] == task and event["item"] is None]


@dataclass(frozen=True)
class Attempt:
    """An item in the hands of a simulated worker, rightly or not."""

    worker: str
    claimed: Claimed
    order: int


@dataclass(frozen=True)
class Finish:
    """The attempt that really finished an item."""

    lease: int
    output: str | None
    seen_input: str | None
    claimed_order: int
    order: int


@dataclass
class SimulatedWorker:
    """Claims and settles like a worker; whether it lives is only a matter of its heartbeats."""

    id: str
    claimer: Claimer
    held: list[Attempt] = field(default_factory=list)


class World:
    """One database with its clock, its workers and the memory of everything that was claimed and finished in it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.clock = Clock()
        settings = Settings(
            database=url, data=str(folder), sqlite_synchronous="NORMAL", retention_days=0, crash_limit=2
        )
        self.store = Store.open(settings, read_clock=self.clock)
        self.folder = folder
        self.pipelines: dict[str, Pipeline] = {}
        self.begin({})

    def begin(self, pipelines: dict[str, Pipeline]) -> None:
        """Start over with an empty database."""
        with self.store.write() as tx:
            for table in tables.metadata.sorted_tables:
                tx.connection.execute(sa.delete(table))
        self.pipelines = pipelines
        self.workers: dict[str, SimulatedWorker] = {}
        self.spent: list[Attempt] = []
        self.leases: set[tuple[int, int]] = set()
        self.finishes: dict[int, Finish] = {}
        self.finished: Counter[int] = Counter()
        self.ticks = itertools.count(1)

    def hire(self) -> SimulatedWorker:
        """A new worker, on a machine that is not this one."""
        worker = SimulatedWorker(f"w{len(self.workers) + 1}", Claimer(self.store, self.pipelines))
        with self.store.write() as tx:
            tx.workers.register(worker.id, "elsewhere", 1, worker.claimer.served.pairs, 8)
        self.workers[worker.id] = worker
        return worker

    def beat(self, worker: SimulatedWorker) -> bool:
        """A heartbeat; False when it came too late."""
        with self.store.write() as tx:
            return tx.workers.beat(worker.id, Report(running=len(worker.held)), self.store.settings.lease_seconds)

    def turn(
        self, worker: SimulatedWorker, settled: Iterable[Settlement], free: int, *, look: bool = True
    ) -> list[Claimed]:
        """One real turn of a worker; without ``look`` it goes by what it knows already, however old that is."""
        worker.claimer.candidates._looked_at = LONG_AGO if look else NEVER
        settlements = list(settled)
        ending = {(one.claimed.id, one.claimed.lease) for one in settlements}
        worker.held = [one for one in worker.held if (one.claimed.id, one.claimed.lease) not in ending]
        in_flight = {one.claimed.task for one in worker.held}
        turn = take_turn(
            self.store,
            worker.claimer,
            self.pipelines,
            worker.id,
            settlements,
            Room(free),
            in_flight=in_flight,
            hinted=look,
        )
        claimed = [one for _, one in turn.claimed]
        for one in claimed:
            assert (one.id, one.lease) not in self.leases, f"lease {one.lease} of item {one.id} was given out twice"
            self.leases.add((one.id, one.lease))
            worker.held.append(Attempt(worker.id, one, next(self.ticks)))
        return claimed

    def new_items(self, items: list[NewItem]) -> NewItems:
        """What a split has yielded."""
        path = self.folder / "scratch" / f"new_items-{next(self.ticks)}.jsonl"
        return NewItems(path).fill(items, lambda name, text: text, 1_000_000)

    def picture(self) -> Picture:
        """Everything, at this moment."""
        with self.store.read() as tx:

            def rows(statement: sa.Select[Any]) -> list[dict[str, Any]]:
                return [dict(row._mapping) for row in tx.connection.execute(statement)]

            data = [tables.item_data.c[name] for name in ("input", "output", "memory", "error_code")]
            joined = sa.select(tables.items, *data).outerjoin(
                tables.item_data, tables.item_data.c.item == tables.items.c.id
            )
            return Picture(
                tasks={row["number"]: row for row in rows(sa.select(tables.tasks))},
                items={row["id"]: row for row in rows(joined)},
                events=rows(sa.select(tables.events).order_by(tables.events.c.id)),
                permits=rows(sa.select(tables.permits)),
                seen_at={row["id"]: row["seen_at"] for row in rows(sa.select(tables.workers))},
            )

    def plan(self, picture: Picture, task: int) -> Plan:
        """The plan of a task."""
        return Plan.from_json(picture.tasks[task]["plan"])

    def close(self) -> None:
        """Close the store."""
        self.store.close()
