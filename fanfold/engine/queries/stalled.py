"""Checks of the doctor for a stalled sweep, for unrecovered work, and for orphans."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from fanfold.engine.queries.checks import OK, PROBLEM, WARNING, DoctorCheck
from fanfold.engine.tasks.recovery.sweep import BATCH, CLEAN_SECONDS, HANG_GRACE_SECONDS, unreferenced
from fanfold.engine.worker.beside.host import is_dead
from fanfold.errors import DatabaseProblem
from fanfold.model.text.sentences import say
from fanfold.settings import Settings
from fanfold.store.files.file_store import FileStore
from fanfold.store.files.folder import old_entries
from fanfold.store.rows.workers import WorkerRow
from fanfold.store.store import Store
from fanfold.store.upgrade.revisions import REVISIONS

TICK = "fanfold tick TARGET"
MOVE = "fanfold files move"
CLOCK_SECONDS = 60.0
"""Most that the clock of a bucket may differ without a warning."""
TELLS_SINCE = "0010"
"""First revision whose workers report when they swept."""


def patience(settings: Settings) -> float:
    """Seconds without a sweep after which it counts as stalled: several intervals, plus the heartbeat that reports it."""
    return max(4 * settings.sweep_seconds, settings.lease_seconds) + 2 * settings.heartbeat_seconds


def living(store: Store) -> tuple[list[WorkerRow], datetime]:
    """The live workers, and the database's time."""
    with store.read() as tx:
        known, now = tx.workers.all(store.settings.lease_seconds), tx.time()
    return [worker for worker in known if worker.alive and not is_dead(worker.host, worker.pid)], now


def without_sweep(worker: WorkerRow, now: datetime) -> float | None:
    """Seconds since a worker swept, or since it started; None for an older one, which does not report it."""
    if worker.revision not in REVISIONS[REVISIONS.index(TELLS_SINCE) :]:
        return None
    return (now - (worker.swept_at or worker.started_at)).total_seconds()


def sweep(store: Store) -> Iterator[DoctorCheck]:
    """Whether the live workers sweep for lost items; a worker may be alive while its sweep fails."""
    alive, now = living(store)
    limit = patience(store.settings)
    told = {worker.id: ago for worker in alive if (ago := without_sweep(worker, now)) is not None}
    late = {worker: ago for worker, ago in told.items() if ago > limit}
    if not late:
        newest = say("swept", seconds=max(0.0, min(told.values()))) if told else say("nobody_to_sweep")
        yield DoctorCheck("sweep", OK, newest)
        return
    named = [say("worker_late", worker=worker, seconds=ago) for worker, ago in sorted(late.items())[:5]]
    everyone = len(late) == len(alive)
    fact = say("nobody_sweeps", workers=named) if everyone else say("some_do_not_sweep", workers=named)
    yield DoctorCheck("sweep", PROBLEM if everyone else WARNING, fact, say("restart_sweep"), TICK)


def stuck(store: Store) -> Iterator[DoctorCheck]:
    """Work that a sweep should have recovered by now."""
    settings = store.settings
    alive, _ = living(store)
    lease, late = settings.lease_seconds, patience(settings)
    with store.read() as tx:
        health, grace = tx.health, HANG_GRACE_SECONDS
        abandoned, hanging = health.abandoned(lease), health.overdue(grace)
        unclosed, stale = len(tx.recovery.unclosed(1_000)), health.stale_permits()
        found = (
            (
                "abandoned items",
                abandoned,
                health.abandoned(lease, late),
                say("items_abandoned", count=abandoned),
            ),
            ("hanging items", hanging, health.overdue(grace + late), say("items_hanging", count=hanging)),
            ("unclosed tasks", unclosed, 0, say("tasks_unclosed", count=unclosed)),
            ("stale permits", stale, 0, say("permits_stale", count=stale)),
        )
    for name, count, old, fact in found:
        yield _stuck(name, fact, old, alive, settings) if count else DoctorCheck(name, OK, say("none"))


def _stuck(name: str, fact: str, old: int, alive: list[WorkerRow], settings: Settings) -> DoctorCheck:
    if not alive:
        return DoctorCheck(name, WARNING, fact, say("no_worker_lives"), "fanfold worker")
    if not old:
        return DoctorCheck(name, WARNING, fact, say("worker_will_mend", seconds=settings.sweep_seconds))
    advice = say("workers_do_not_mend", count=len(alive), seconds=patience(settings))
    return DoctorCheck(name, PROBLEM, fact, advice, TICK)


def orphans(store: Store) -> Iterator[DoctorCheck]:
    """Rows and files without an owner. They only take up space."""
    with store.read() as tx:
        found = tx.health.orphans()
        unfinished = tx.health.deletions(2 * CLEAN_SECONDS)
    rows = [say("rows_of_table", count=count, table=table) for table, count in sorted(found.items())]
    lost = DoctorCheck("orphaned rows", WARNING, say("orphaned_rows", rows=rows), say("report_orphans"))
    yield lost if rows else DoctorCheck("orphaned rows", OK, say("none"))
    fact = say("deletions_late", count=unfinished, hours=2 * CLEAN_SECONDS / 3600)
    late = DoctorCheck("deleted tasks", WARNING, fact, say("removed_by_sweep"))
    yield late if unfinished else DoctorCheck("deleted tasks", OK, say("none_left_over"))
    yield from bucket(store)
    yield shared_folder(store)
    yield files(store)


def shared_folder(store: Store) -> DoctorCheck:
    """Whether other databases share the data folder: their leftover files look alike, so few of them are removed."""
    if not (found := store.other_databases()):
        return DoctorCheck("shared data folder", OK, say("folder_own", folder=store.settings.data_folder))
    fact = say("folder_shared", folder=store.settings.data_folder, databases=found)
    return DoctorCheck("shared data folder", WARNING, fact, say("separate_folders"))


def _answers(place: FileStore) -> bool:
    """Whether a place can be looked at; a check of its own says why not."""
    try:
        place.probe()
    except DatabaseProblem:
        return False
    return True


def _orphans(store: Store, place: FileStore, seconds: float) -> int:
    """Old unreferenced blobs among as many as one cleanup lists."""
    found, threshold, count = islice(place.listed(), place.listed_at_once), place.now() - seconds, 0
    while page := list(islice(found, BATCH)):
        count += len(unreferenced(store, place, [one.key for one in page if one.written_at < threshold]))
    return count


def bucket(store: Store) -> Iterator[DoctorCheck]:
    """Whether the bucket of the files can be used: it answers, can be written, and refuses to overwrite."""
    shelf = store.shelf
    if not shelf.is_remote:
        if others := [place.address for place in shelf.others(fresh=True)]:
            fact = say("files_elsewhere", here=shelf.home.address, others=others)
            yield DoctorCheck("files", WARNING, fact, say("files_elsewhere_advice"), MOVE)
        return
    try:
        store.check_files()
        difference = time.time() - shelf.home.now()
    except DatabaseProblem as problem:
        yield DoctorCheck("files", PROBLEM, say("bucket_unusable", why=problem.message), say("bucket_fix"))
        return
    yield DoctorCheck("files", OK, say("bucket_usable", place=shelf.home.address))
    far = abs(difference) > CLOCK_SECONDS
    fact, advice = say("bucket_clock", seconds=abs(difference)), say("bucket_clock_advice")
    yield DoctorCheck("bucket clock", WARNING, fact, advice) if far else DoctorCheck("bucket clock", OK, fact)
    if count := sum(1 for _ in shelf.folder.listed()):
        fact = say("files_to_move", count=count, folder=shelf.folder.address, place=shelf.home.address)
        yield DoctorCheck("files to move", WARNING, fact, say("move_advice"), MOVE)


def files(store: Store) -> DoctorCheck:
    """Old unreferenced files that a cleanup should have removed."""
    seconds = store.settings.stale_hours * 3600 + 2 * CLEAN_SECONDS
    blobs = sum(_orphans(store, place, seconds) for place in store.shelf.all() if _answers(place))
    scratch = sum(1 for _ in old_entries(store.scratch, seconds))
    if not blobs and not scratch:
        return DoctorCheck("orphaned files", OK, say("none"))
    fact = say("orphaned_files", blobs=blobs, scratch=scratch)
    return DoctorCheck("orphaned files", WARNING, fact, say("removed_by_cleaning", folder=store.scratch))
