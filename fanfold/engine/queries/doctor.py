"""Is everything all right? Checks, each with a fact and what to do about it; nothing is changed."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from fanfold.engine.queries import stalled
from fanfold.engine.queries.checks import OK, PROBLEM, WARNING, Check
from fanfold.engine.worker.host import is_dead
from fanfold.errors import DatabaseProblem
from fanfold.model.lifecycle import TaskState
from fanfold.settings import Settings
from fanfold.store.dialects.notify import Hints
from fanfold.store.dialects.sqlite import SAFE_SQLITE, sqlite_version
from fanfold.store.store import Store
from fanfold.store.upgrade import migrate
from fanfold.store.urls import shown

__all__ = ["OK", "PROBLEM", "WARNING", "Check", "examine"]
LOW_BYTES, FEW_BYTES = 5_000_000_000, 500_000_000
CLOCK_SECONDS = 2.0
TICK_SECONDS = 600.0
HEARING_SECONDS = 2.0


def examine(settings: Settings) -> list[Check]:
    """Look at everything that can be looked at; an unreachable database leaves the rest to be checked."""
    checks = [data_folder(settings.data_folder), disk(settings.data_folder)]
    try:
        store = Store(settings)
    except DatabaseProblem as problem:
        return [
            Check("database", PROBLEM, str(problem), "Give another one: --database URL or FANFOLD_DATABASE"),
            *checks,
        ]
    try:
        return [*database(store), *checks]
    finally:
        store.close()


def database(store: Store, *, thorough: bool = True) -> list[Check]:
    """Everything the database can tell."""
    try:
        revision = migrate.current(store.database)
        misfit = migrate.problem_with(store.database)
    except DatabaseProblem as problem:
        return [Check("database", PROBLEM, str(problem), "Start it, or give another one: --database URL")]
    checks = [
        Check("database", OK, shown(store.database.url)),
        *([sqlite()] if store.database.dialect == "sqlite" else postgres(store)),
    ]
    if misfit is not None and misfit.code not in ("older_database", "newer_database"):
        return [*checks, Check("schema", PROBLEM, misfit.message)]
    fits = revision is not None and misfit is None
    return [*checks, schema(revision, fits=fits), *(work(store, thorough=thorough) if fits else ())]


def sqlite() -> Check:
    """SQLite must be free of the bug that can corrupt its log."""
    version = ".".join(map(str, sqlite_version()))
    if sqlite_version() >= SAFE_SQLITE:
        return Check("sqlite", OK, f"version {version}")
    safe = ".".join(map(str, SAFE_SQLITE))
    advice = f"Several processes on one file are at risk: use a Python with SQLite {safe}, install pysqlite3, or use PostgreSQL."
    return Check("sqlite", WARNING, f"version {version} has a bug that can corrupt the file", advice)


def postgres(store: Store) -> list[Check]:
    """A pooler in between, and whether workers are told of news at once."""
    database = store.database
    advice = "Give a URL without the pooler: FANFOLD_DIRECT_DATABASE"
    found = [Check("pooler", OK, "transactions share connections; nothing is prepared")] if database.is_pooled else []
    hints = Hints(database)
    if not hints.possible:
        fact = f"none behind a pooler: idle workers look for work every {store.settings.poll_seconds:g} s"
        return [*found, Check("notifications", OK, fact, advice)]
    stop = threading.Event()
    hints.wait(stop, HEARING_SECONDS)
    with store.write() as tx:
        tx.announce()
    heard = hints.wait(stop, HEARING_SECONDS)
    hints.close()
    fact = "arrive" if heard else f"do not arrive within {HEARING_SECONDS:g} s: workers look every few seconds only"
    return [*found, Check("notifications", OK if heard else WARNING, fact, "" if heard else advice)]


def schema(revision: str | None, *, fits: bool = False) -> Check:
    """Code and tables must fit; those of a newer revision may, and say so themselves."""
    newest = migrate.REVISIONS[-1]
    if fits or revision == newest:
        newer = "" if revision == newest else f", newer than this Fanfold ({newest}), which can go on with it"
        return Check("schema", OK, f"revision {revision}{newer}")
    if revision is None:
        return Check("schema", WARNING, "the database is empty", "It is made at first use, or by: fanfold db upgrade")
    if revision in migrate.REVISIONS:
        return Check("schema", PROBLEM, f"revision {revision}, this version needs {newest}", "Run: fanfold db upgrade")
    return Check(
        "schema", PROBLEM, f"revision {revision} is newer than this Fanfold", "Upgrade Fanfold on this machine."
    )


def work(store: Store, *, thorough: bool = True) -> Iterator[Check]:
    """What the tables say of clock, workers and work; ``thorough`` also reads whole tables in search of orphans."""
    yield clock(store)
    yield from workers(store)
    yield from stalled.sweep(store)
    yield from stalled.stuck(store)
    if thorough:
        yield from stalled.orphans(store)
    yield tasks(store)


def clock(store: Store) -> Check:
    """Leases follow the database's clock; people read times by the host's."""
    with store.read() as tx:
        difference = time.time() - tx.time().timestamp()
    fact = f"{abs(difference):.1f} s apart from the database's"
    if abs(difference) <= CLOCK_SECONDS:
        return Check("clock", OK, fact)
    return Check("clock", WARNING, fact, "Set the clocks by NTP; leases are safe, but times will look odd.")


def workers(store: Store) -> Iterator[Check]:
    """Who lives, and whether every stage with work is served."""
    with store.read() as tx:
        known = tx.workers.all(store.settings.lease_seconds)
        standing = tx.health.standing()
        swept_ago = tx.health.swept_ago()
    alive = [worker for worker in known if worker.alive and not is_dead(worker.host, worker.pid)]
    lost = len(known) - len(alive)
    yield Check("workers", OK, f"{len(alive)} alive" + (f", {lost} lost" if lost else ""))
    served = {pair for worker in alive for pair in worker.serves}
    idle = {pair: count for pair, count in standing.items() if pair not in served}
    if not idle:
        yield Check("served", OK, f"active tasks: {sum(standing.values())}, all of them served")
        return
    places = ", ".join(f"{pipeline}.{stage}" for pipeline, stage in sorted(idle))
    advice = f"Nobody serves {places}. Start a worker: fanfold worker TARGET (or let a timer run: fanfold tick TARGET)"
    # Where a timer runs ticks, no worker is seen between two of them.
    ticking = swept_ago is not None and swept_ago < TICK_SECONDS
    yield Check(
        "served", WARNING if ticking else PROBLEM, f"active tasks that no worker serves: {sum(idle.values())}", advice
    )


def tasks(store: Store) -> Check:
    """What waits for a person."""
    with store.read() as tx:
        counts = tx.tasks.count_by_state()
        held = tx.health.held()
        needing = tx.tasks.count_needing()
    if held:
        return Check(
            "tasks",
            WARNING,
            f"active tasks with items that wait for a person: {held}",
            "To see why: fanfold tasks --state active",
        )
    stopped = {
        state: counts[state] for state in (TaskState.WAITING, TaskState.PAUSED, TaskState.PARTIAL) if counts.get(state)
    }
    if not stopped and needing:
        found = f"{sum(counts.values())} in all, {needing} for a person to look at"
        return Check("tasks", OK, found, "To see them: fanfold tasks --needs-you")
    if not stopped:
        return Check("tasks", OK, f"{sum(counts.values())} in all, none waits for a person")
    named = ", ".join(f"{count} {state.value}" for state, count in stopped.items())
    if needing > sum(stopped.values()):
        return Check(
            "tasks", OK, f"{named}; {needing} for a person to look at", "To see them: fanfold tasks --needs-you"
        )
    advice = "To see them: fanfold tasks " + " ".join(f"--state {state.value}" for state in stopped)
    return Check("tasks", OK, named, advice)


def data_folder(folder: Path) -> Check:
    """Blobs and scratch files must have a place."""
    place = existing(folder)
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        advice = "Give another one: --data FOLDER or FANFOLD_DATA"
        return Check("data folder", PROBLEM, f"{folder} cannot be written to: {error.strerror}", advice)
    return Check("data folder", OK, str(folder) + ("" if folder.exists() else " (made at first use)"))


def disk(folder: Path) -> Check:
    """A full disk stops everything."""
    free = shutil.disk_usage(existing(folder)).free
    fact = f"{free / 1e9:.1f} GB free"
    if free >= LOW_BYTES:
        return Check("disk", OK, fact)
    status = WARNING if free >= FEW_BYTES else PROBLEM
    return Check("disk", status, fact, "Make room: fanfold prune --days N removes finished tasks with their files")


def existing(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    folder = Path(os.path.abspath(folder))
    return next((place for place in (folder, *folder.parents) if place.is_dir()), Path(folder.anchor))
