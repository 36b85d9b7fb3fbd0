"""The engines that take part, each with the settings with which it was fastest on two cores, and their item counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

Store = Literal["PostgreSQL", "SQLite", "Redis"]
Kind = Literal["fanfold", "peer", "raw"]


@dataclass(frozen=True)
class Contestant:
    """One row of the table. Slow engines get fewer items, so that a round stays short."""

    name: str
    kind: Kind
    store: Store
    module: str
    processes: int
    items: int
    """In the drain: created beforehand, then worked off."""
    fanned_items: int = 0
    """Fanned out to warm workers and fanned in again; 0: not measured."""
    settings: str = ""
    fan_in: str = ""
    package: str = ""
    options: dict[str, str] = field(default_factory=dict)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """What is measured of it."""
        return ("drain", "fanned") if self.fanned_items else ("drain",)

    def size(self, scenario: str, scale: float = 1.0, items: int | None = None) -> int:
        """How many items it gets: its own number, scaled, or the one that was asked for if that is smaller."""
        own = self.items if scenario == "drain" else self.fanned_items
        wanted = max(MINIMUM, int(own * scale))
        return wanted if items is None else min(wanted, items)


MINIMUM = 200
CONCURRENCY = 2_000
BATCHES = {1: 2_000, 10: 10_000, 100: 50_000, 1_000: 100_000}
"""Raw statements: how many items are worked off with which batch."""


def fanfold(store: Store, processes: int) -> Contestant:
    """Fanfold as a user starts it: `fanfold worker`, once per process."""
    return Contestant(
        name=f"Fanfold, {store}, {counted(processes)}",
        kind="fanfold",
        store=store,
        module="fanfold_workers",
        processes=processes,
        items=50_000,
        fanned_items=10_000,
        settings=f"concurrency {CONCURRENCY}",
        fan_in="merge handler",
        package="fanfold",
        options={"concurrency": str(CONCURRENCY)},
    )


def raw(store: Store, batch: int, processes: int, synchronous: str = "FULL") -> Contestant:
    """Nothing but the statements: claim a batch, finish it, each with its own commit."""
    weaker = f", synchronous={synchronous}" if store == "SQLite" else ""
    return Contestant(
        name=f"raw {store}{weaker}, k={batch}, {counted(processes)}",
        kind="raw",
        store=store,
        module="raw_postgresql" if store == "PostgreSQL" else "raw_sqlite",
        processes=processes,
        items=BATCHES[batch],
        options={"batch": str(batch), "synchronous": synchronous},
    )


def counted(processes: int) -> str:
    """In words."""
    return "1 process" if processes == 1 else f"{processes} processes"


PEERS = (
    Contestant(
        "PgQueuer", "peer", "PostgreSQL", "pgqueuer_jobs", 2, 50_000, 10_000, package="pgqueuer",
        settings="2 processes, batch 2000, asyncpg pool, uvloop; keeps no results", fan_in="completion watcher in the client",
    ),
    Contestant(
        "Procrastinate", "peer", "PostgreSQL", "procrastinate_jobs", 2, 2_000, 1_000, package="procrastinate",
        settings="2 processes, concurrency 10, ANALYZE beforehand; keeps no results", fan_in="none: the table is polled",
    ),
    Contestant(
        "DBOS, PostgreSQL", "peer", "PostgreSQL", "dbos_workflows", 2, 2_000, 500, package="dbos",
        settings="2 processes, worker concurrency 100, 8 threads, polled every 10 ms", fan_in="parent workflow",
        options={"concurrency": "100", "threads": "8"},
    ),
    Contestant(
        "DBOS, SQLite", "peer", "SQLite", "dbos_workflows", 1, 1_000, 200, package="dbos",
        settings="1 process, 1 thread, polled every 10 ms", fan_in="parent workflow, alone on a second thread",
        options={"threads": "1", "fanned threads": "4"},
    ),
    Contestant(
        "Celery", "peer", "Redis", "celery_tasks", 2, 3_000, 2_000, package="celery",
        settings="2 processes, 4 threads each, prefetch 64", fan_in="chord",
    ),
    Contestant(
        "Dramatiq", "peer", "Redis", "dramatiq_actors", 2, 6_000, 3_000, package="dramatiq",
        settings="2 processes, 8 threads each", fan_in="completion callback of a group",
    ),
    Contestant(
        "Huey", "peer", "SQLite", "huey_tasks", 1, 4_000, 2_000, package="huey",
        settings="1 worker thread, default `synchronous` setting", fan_in="chord",
    ),
    Contestant(
        "SAQ", "peer", "Redis", "saq_jobs", 2, 6_000, 5_000, package="saq",
        settings="2 processes, concurrency 50, uvloop", fan_in="`map` in the client",
    ),
)  # fmt: skip

FANFOLD = tuple(fanfold(store, processes) for store in ("PostgreSQL", "SQLite") for processes in (1, 2))
RAW = (
    *(raw("PostgreSQL", batch, processes) for batch in BATCHES for processes in (1, 2)),
    *(
        raw("SQLite", batch, processes, synchronous)
        for synchronous in ("FULL", "NORMAL")
        for batch in BATCHES
        for processes in (1, 2)
    ),
)
ALL = (*FANFOLD, *PEERS, *RAW)


def chosen(words: list[str]) -> tuple[Contestant, ...]:
    """Those whose name contains one of the words, in any case; all without words."""
    if not words:
        return ALL
    return tuple(one for one in ALL if any(word.lower() in one.name.lower() for word in words))


def for_a_first_idea() -> tuple[Contestant, ...]:
    """All engines, but peers only in the drain, and of the raw statements only those the others are compared with."""
    limits = [one for one in RAW if one.options["batch"] == "100" and one.options["synchronous"] == "FULL"]
    return (*FANFOLD, *(replace(one, fanned_items=0) for one in PEERS), *limits)


def named(name: str) -> Contestant:
    """The one of exactly this name."""
    return next(one for one in ALL if one.name == name)
