"""The doctor: read-only checks of an installation, each with a fact and what to do about it."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from fanfold.engine.queries import stalled
from fanfold.engine.queries.checks import OK, PROBLEM, WARNING, DoctorCheck
from fanfold.engine.worker.beside.host import is_dead
from fanfold.errors import BadInput, DatabaseProblem
from fanfold.model.lifecycle import TaskState
from fanfold.model.text.sentences import say
from fanfold.settings import Settings
from fanfold.store.dialects.notify import Hints
from fanfold.store.store import Store
from fanfold.store.streams.in_redis import LiveStreams, check_url
from fanfold.store.upgrade import migrate
from fanfold.store.urls import shown

__all__ = ["OK", "PROBLEM", "WARNING", "DoctorCheck", "examine"]
LOW_BYTES, FEW_BYTES = 5_000_000_000, 500_000_000
CLOCK_SECONDS = 2.0
TICK_SECONDS = 600.0
HEARING_SECONDS = 2.0
NEEDING = "fanfold tasks --needs-you"
UPGRADE = "fanfold db upgrade"
OTHER_DATABASE = "fanfold doctor --database URL"


def examine(settings: Settings) -> list[DoctorCheck]:
    """Run all checks; if the database is unreachable, the others still run."""
    checks = [data_folder(settings.data_folder), disk(settings.data_folder)]
    try:
        store = Store(settings)
    except DatabaseProblem as problem:
        return [
            DoctorCheck("database", PROBLEM, problem.message, say("start_database"), OTHER_DATABASE),
            *checks,
        ]
    try:
        return [*database(store), *streams(settings), *checks]
    finally:
        store.close()


def database(store: Store, *, thorough: bool = True) -> list[DoctorCheck]:
    """All checks that need the database."""
    try:
        revision = migrate.current(store.database)
        misfit = migrate.problem_with(store.database)
    except DatabaseProblem as problem:
        return [DoctorCheck("database", PROBLEM, problem.message, say("start_database"), OTHER_DATABASE)]
    checks = [
        DoctorCheck("database", OK, shown(store.database.url)),
        *version(store),
        *notifications(store),
    ]
    if misfit is not None and misfit.code not in ("older_database", "newer_database"):
        return [*checks, DoctorCheck("schema", PROBLEM, misfit.message)]
    fits = revision is not None and misfit is None
    return [*checks, schema(revision, fits=fits), *(work(store, thorough=thorough) if fits else ())]


def version(store: Store) -> list[DoctorCheck]:
    """Whether the database's own version is known to be safe."""
    dialect = store.database.dialect
    if (known := dialect.version) is None:
        return []
    return [DoctorCheck(dialect.name, WARNING if known.advice else OK, known.fact, known.advice)]


def notifications(store: Store) -> list[DoctorCheck]:
    """Whether there is a pooler, and whether workers are notified of work at once."""
    database = store.database
    hints = Hints(database)
    if hints.tells_all:
        return []
    advice = say("direct_database")
    found = [DoctorCheck("pooler", OK, say("pooled"))] if database.is_pooled else []
    if not hints.possible:
        fact = say("no_notifications", seconds=store.settings.poll_seconds)
        return [*found, DoctorCheck("notifications", OK, fact, advice)]
    stop = threading.Event()
    hints.wait(stop, HEARING_SECONDS)
    with store.write() as tx:
        tx.announce()
    heard = hints.wait(stop, HEARING_SECONDS)
    hints.close()
    fact = say("notifications_arrive") if heard else say("notifications_lost", seconds=HEARING_SECONDS)
    return [*found, DoctorCheck("notifications", OK if heard else WARNING, fact, "" if heard else advice)]


def streams(settings: Settings) -> list[DoctorCheck]:
    """Whether the Redis that carries streamed output answers. Without it nothing is lost: readers poll the database."""
    if not settings.streams:
        return []
    try:
        check_url(settings.streams)
    except BadInput as problem:
        return [DoctorCheck("streams", PROBLEM, problem.message)]
    live = LiveStreams(settings.streams, "doctor")
    try:
        why = live.ping()
    finally:
        live.close()
    if why is None:
        return [DoctorCheck("streams", OK, say("redis_answers", address=live.address))]
    return [DoctorCheck("streams", WARNING, say("redis_silent", address=live.address, why=why), say("start_redis"))]


def schema(revision: str | None, *, fits: bool = False) -> DoctorCheck:
    """Whether code and tables fit; a newer revision may still allow this code."""
    newest = migrate.REVISIONS[-1]
    if fits or revision == newest:
        ahead = revision != newest
        plain = say("revision", revision=revision)
        return DoctorCheck("schema", OK, say("revision_ahead", revision=revision, newest=newest) if ahead else plain)
    if revision is None:
        return DoctorCheck("schema", WARNING, say("database_empty"), say("database_made"), UPGRADE)
    if revision in migrate.REVISIONS:
        behind = say("revision_behind", revision=revision, newest=newest)
        return DoctorCheck("schema", PROBLEM, behind, say("run_upgrade"), UPGRADE)
    return DoctorCheck("schema", PROBLEM, say("revision_unknown", revision=revision), say("upgrade_fanfold"))


def work(store: Store, *, thorough: bool = True) -> Iterator[DoctorCheck]:
    """Checks of clock, workers and work; ``thorough`` also reads whole tables to find orphans."""
    yield clock(store)
    yield from workers(store)
    yield from stalled.sweep(store)
    yield from stalled.stuck(store)
    if thorough:
        yield from stalled.orphans(store)
    yield tasks(store)


def clock(store: Store) -> DoctorCheck:
    """Whether the database's clock, which leases follow, agrees with the host's, which people read."""
    with store.read() as tx:
        difference = time.time() - tx.time().timestamp()
    fact = say("clocks_apart", seconds=abs(difference))
    if abs(difference) <= CLOCK_SECONDS:
        return DoctorCheck("clock", OK, fact)
    return DoctorCheck("clock", WARNING, fact, say("set_clocks"))


def workers(store: Store) -> Iterator[DoctorCheck]:
    """Which workers are alive, and whether every stage with work is served."""
    with store.read() as tx:
        known = tx.workers.all(store.settings.lease_seconds)
        standing = tx.health.standing()
        swept_ago = tx.health.swept_ago()
    alive = [worker for worker in known if worker.alive and not is_dead(worker.host, worker.pid)]
    lost = len(known) - len(alive)
    all_live = say("workers_alive", count=len(alive))
    yield DoctorCheck("workers", OK, say("workers_alive_lost", count=len(alive), lost=lost) if lost else all_live)
    served = {pair for worker in alive for pair in worker.serves}
    idle = {pair: count for pair, count in standing.items() if pair not in served}
    if not idle:
        yield DoctorCheck("served", OK, say("all_served", count=sum(standing.values())))
        return
    advice = say("start_worker", places=[f"{pipeline}.{stage}" for pipeline, stage in sorted(idle)])
    # If a timer runs ticks, no worker is alive between two of them.
    ticking = swept_ago is not None and swept_ago < TICK_SECONDS
    fact = say("not_all_served", count=sum(idle.values()))
    yield DoctorCheck("served", WARNING if ticking else PROBLEM, fact, advice, "fanfold worker TARGET")


def tasks(store: Store) -> DoctorCheck:
    """Whether tasks wait for a person."""
    with store.read() as tx:
        counts = tx.tasks.count_by_state()
        held = tx.health.held()
        needing = tx.tasks.count_needing()
    if held:
        return DoctorCheck(
            "tasks", WARNING, say("tasks_held", count=held), say("see_held"), "fanfold tasks --state active"
        )
    stopped = {
        state: counts[state] for state in (TaskState.WAITING, TaskState.PAUSED, TaskState.PARTIAL) if counts.get(state)
    }
    total = sum(counts.values())
    if not stopped and needing:
        return DoctorCheck(
            "tasks", OK, say("tasks_needing", count=total, needing=needing), say("look_at_them"), NEEDING
        )
    if not stopped:
        return DoctorCheck("tasks", OK, say("no_task_waits", count=total))
    named = [say("tasks_in_state", count=count, state=state) for state, count in stopped.items()]
    if needing > sum(stopped.values()):
        found = say("tasks_stopped_needing", states=named, needing=needing)
        return DoctorCheck("tasks", OK, found, say("look_at_them"), NEEDING)
    command = "fanfold tasks " + " ".join(f"--state {state.value}" for state in stopped)
    return DoctorCheck("tasks", OK, say("tasks_stopped", states=named), say("look_at_them"), command)


def data_folder(folder: Path) -> DoctorCheck:
    """Whether blobs and scratch files can be written."""
    place = existing(folder)
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        fact = say("folder_unwritable", folder=folder, why=error.strerror)
        return DoctorCheck("data folder", PROBLEM, fact, say("give_folder"), "fanfold doctor --data FOLDER")
    return DoctorCheck("data folder", OK, str(folder) if folder.exists() else say("folder_new", folder=folder))


def disk(folder: Path) -> DoctorCheck:
    """Whether enough disk space is free; a full disk stops everything."""
    free = shutil.disk_usage(existing(folder)).free
    fact = say("disk_free", gigabytes=free / 1e9)
    if free >= LOW_BYTES:
        return DoctorCheck("disk", OK, fact)
    status = WARNING if free >= FEW_BYTES else PROBLEM
    return DoctorCheck("disk", status, fact, say("make_room"), "fanfold prune --days N")


def existing(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    folder = Path(os.path.abspath(folder))
    return next((place for place in (folder, *folder.parents) if place.is_dir()), Path(folder.anchor))
