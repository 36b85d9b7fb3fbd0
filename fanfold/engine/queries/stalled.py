"""Is anything left lying? Checks of the doctor for a sweep that stands still, for work nobody recovers, and for orphans."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from fanfold.engine.queries.checks import OK, PROBLEM, WARNING, Check
from fanfold.engine.tasks.sweep import BATCH, CLEAN_SECONDS, HANG_GRACE_SECONDS
from fanfold.engine.worker.host import is_dead
from fanfold.settings import Settings
from fanfold.store.files.folder import old_entries
from fanfold.store.store import Store
from fanfold.store.upgrade.revisions import REVISIONS
from fanfold.store.workers import WorkerRow

TELLS_SINCE = "0006"
"""Workers of older revisions do not say when they swept."""


def patience(settings: Settings) -> float:
    """Seconds without a sweep after which it counts as stalled: several intervals, and the heartbeat that tells of it."""
    return max(4 * settings.sweep_seconds, settings.lease_seconds) + 2 * settings.heartbeat_seconds


def living(store: Store) -> tuple[list[WorkerRow], datetime]:
    """The workers that live, and the database's time."""
    with store.read() as tx:
        known, now = tx.workers.all(store.settings.lease_seconds), tx.time()
    return [worker for worker in known if worker.alive and not is_dead(worker.host, worker.pid)], now


def without_sweep(worker: WorkerRow, now: datetime) -> float | None:
    """Seconds since a worker swept, or since it began; None for an older one, which does not tell."""
    if worker.revision not in REVISIONS[REVISIONS.index(TELLS_SINCE) :]:
        return None
    return (now - (worker.swept_at or worker.started_at)).total_seconds()


def sweep(store: Store) -> Iterator[Check]:
    """Whether the living workers look after lost items; a worker may live while its sweep fails."""
    alive, now = living(store)
    limit = patience(store.settings)
    told = {worker.id: ago for worker in alive if (ago := without_sweep(worker, now)) is not None}
    late = {worker: ago for worker, ago in told.items() if ago > limit}
    if not late:
        newest = f"last run {max(0.0, min(told.values())):.0f} s ago" if told else "no worker to run it"
        yield Check("sweep", OK, newest)
        return
    names = ", ".join(f"{worker} ({ago:.0f} s)" for worker, ago in sorted(late.items())[:5])
    advice = 'Look for "sweep failed" in their log, then restart them. Meanwhile, recover by hand: fanfold tick TARGET'
    everyone = len(late) == len(alive)
    fact = "no living worker sweeps" if everyone else "some living workers do not sweep"
    yield Check("sweep", PROBLEM if everyone else WARNING, f"{fact}: {names}", advice)


def stuck(store: Store) -> Iterator[Check]:
    """What a sweep should have put right: now, and since long enough that a living worker should have done it."""
    settings = store.settings
    alive, _ = living(store)
    lease, late = settings.lease_seconds, patience(settings)
    with store.read() as tx:
        health, grace = tx.health, HANG_GRACE_SECONDS
        found = (
            (
                "abandoned items",
                health.abandoned(lease),
                health.abandoned(lease, late),
                "run under a worker that is gone",
            ),
            ("hanging items", health.overdue(grace), health.overdue(grace + late), "are far past their time limit"),
            ("unclosed tasks", len(tx.recovery.unclosed(1_000)), 0, "have ended their stage and were not moved on"),
            ("stale permits", health.stale_permits(), 0, "belong to items that no longer run"),
        )
    for name, count, old, what in found:
        yield _stuck(name, count, old, what, alive, settings) if count else Check(name, OK, "none")


def _stuck(name: str, count: int, old: int, what: str, alive: list[WorkerRow], settings: Settings) -> Check:
    if not alive:
        advice = "No worker lives. Start one, and it puts this right at once: fanfold worker, or fanfold tick"
        return Check(name, WARNING, f"{count} {what}", advice)
    if not old:
        advice = (
            f"A worker puts this right within {settings.sweep_seconds:g} s. If it is still here then, look at its log"
        )
        return Check(name, WARNING, f"{count} {what}", advice)
    advice = (
        f"{len(alive)} living workers have not put this right for {patience(settings):.0f} s or more: look for "
        '"sweep failed" in their log, and restart them. Meanwhile, recover by hand: fanfold tick TARGET'
    )
    return Check(name, PROBLEM, f"{count} {what}", advice)


def orphans(store: Store) -> Iterator[Check]:
    """Rows and files that belong to nothing. They take up space and change nothing."""
    with store.read() as tx:
        found = tx.health.orphans()
        unfinished = tx.health.deletions(2 * CLEAN_SECONDS)
    rows = ", ".join(f"{count} {table}" for table, count in sorted(found.items()))
    advice = "They take up space and change nothing. Please report it with what the log says of deleted tasks"
    yield Check("orphaned rows", WARNING, rows, advice) if rows else Check("orphaned rows", OK, "none")
    late = f"{unfinished} deleted tasks are not yet removed after {2 * CLEAN_SECONDS / 3600:g} h"
    advice = "A worker removes them bit by bit with its sweep: see that one runs, and look for sweep in its log"
    yield Check("deleted tasks", WARNING, late, advice) if unfinished else Check("deleted tasks", OK, "none left over")
    yield shared_folder(store)
    yield files(store)


def shared_folder(store: Store) -> Check:
    """Other databases with the same data folder: what each leaves behind cannot be told apart, so little of it is removed."""
    if not (found := store.other_databases()):
        return Check("shared data folder", OK, f"{store.settings.data_folder}: only of this database")
    fact = f"{store.settings.data_folder} is also the data folder of {', '.join(found)}"
    advice = (
        "Nothing is lost by it, but old files stay. Give each database a folder of its own (FANFOLD_DATA), or remove the mark "
        "of one that is gone from the folder databases/"
    )
    return Check("shared data folder", WARNING, fact, advice)


def files(store: Store) -> Check:
    """Old files that nothing refers to, and that a cleaning should have removed."""
    seconds = store.settings.stale_hours * 3600 + 2 * CLEAN_SECONDS
    blobs, old = 0, store.shelf.older_than(seconds)
    while keys := list(islice(old, BATCH)):
        with store.read() as tx:
            blobs += len(set(store.own_files(keys)) - tx.blobs.known(keys))
    scratch = sum(1 for _ in old_entries(store.scratch, seconds))
    if not blobs and not scratch:
        return Check("orphaned files", OK, "none")
    fact = f"{blobs} blobs that no row names, {scratch} scratch files of attempts that are over"
    advice = f"A worker's hourly cleaning removes them: see that one runs, and look for cleaning in its log ({store.scratch})"
    return Check("orphaned files", WARNING, fact, advice)
