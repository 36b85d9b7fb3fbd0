"""Recovers from crashes. One worker at a time runs this, in short transactions that check their own conditions.

Any of them can run again: after a crash in between, the next sweep continues.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from itertools import islice
from typing import Any

from fanfold.engine.tasks.many_items.reset_items import finish_abandoned
from fanfold.engine.tasks.moving.copy_items import move_on
from fanfold.engine.tasks.moving.transitions import Pipelines, left_for_later
from fanfold.engine.tasks.recovery.abandoned import remove_abandoned
from fanfold.engine.tasks.scheduling.fire import fire_due
from fanfold.engine.tasks.scheduling.start_later import start_due
from fanfold.engine.tasks.steering.delete import SLICE_SECONDS, late_after, prune, remove_deleted
from fanfold.engine.tasks.steering.follow_parent import follow_parents
from fanfold.engine.worker.attempt.settle_batch import poison
from fanfold.engine.worker.beside.host import is_dead
from fanfold.model.endings import Ending
from fanfold.model.lifecycle import ItemState
from fanfold.model.text.sentences import say
from fanfold.store.files.file_store import FileStore
from fanfold.store.files.folder import old_entries, remove_file
from fanfold.store.items import recover as recovery
from fanfold.store.items.recover import ClockSetBack, LostItem
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.sweep")
HANG_GRACE_SECONDS = 30.0
CLEAN_SECONDS = 3_600.0
BATCH = 500
CLEAN_ROWS = 500
"""Most rows of each kind removed in one cleanup."""
FORGET_WORKERS_SECONDS = 86_400.0


def sweep(store: Store, pipelines: Pipelines, actor: str = "sweep", *, force: bool = False) -> bool:
    """Recover lost items and advance tasks whose stage is over, if due; returns whether anything was found."""
    found = recover_if_due(store, pipelines, actor, force=force)
    clean_if_due(store, actor, force=force)
    return found


def recover_if_due(store: Store, pipelines: Pipelines, actor: str, *, force: bool = False) -> bool:
    """Recover lost items and advance tasks if it is this process's turn to sweep; returns whether anything was found.

    If the sweep fails, the next worker that asks gets the turn.
    """
    interval = store.settings.sweep_seconds
    if not take_duty(store, "recover", interval, force):
        return False
    try:
        found = _recover_and_close(store, pipelines, actor)
    except BaseException:
        with store.write() as tx:
            tx.recovery.give_back_duty("recover", interval)
        raise
    is_late = late_after(SLICE_SECONDS)
    _try_each(
        actor,
        f"Trying again in {interval:g} s",
        ("removing deleted tasks", lambda: remove_deleted(store, pipelines, actor, is_late)),
        ("pruning", lambda: prune(store, pipelines, actor, is_late=is_late)),
    )
    return found


def clean_if_due(store: Store, actor: str, *, force: bool = False) -> None:
    """Clean up if it is this process's turn."""
    if take_duty(store, "clean", CLEAN_SECONDS, force):
        clean(store, actor)


def recover_now(store: Store, pipelines: Pipelines, actor: str) -> bool:
    """Recover and close without waiting for a turn; returns whether anything was found."""
    take_duty(store, "recover", store.settings.sweep_seconds, force=True)
    return _recover_and_close(store, pipelines, actor)


def _recover_and_close(store: Store, pipelines: Pipelines, actor: str) -> bool:
    recovered = recover(store, actor)
    finish_abandoned(store, actor)
    remove_abandoned(store, actor)
    followed = follow_parents(store, pipelines, actor, is_late=late_after(SLICE_SECONDS))
    return close(store, pipelines, actor) + recovered + followed + begin_due(store, pipelines, actor) > 0


def begin_due(store: Store, pipelines: Pipelines, actor: str) -> int:
    """Start tasks whose time has come, and submit those of schedules; returns how many."""
    return start_due(store, pipelines, actor) + fire_due(store, pipelines, actor)


def take_duty(store: Store, name: str, interval: float, force: bool) -> bool:
    """Whether it is this process's turn in this interval."""
    if not force:
        with store.read() as tx:
            if not tx.recovery.may_take_duty(name, interval):
                return False
    try:
        return store.transact(lambda tx: tx.recovery.take_duty(name, 0.0 if force else interval) or force)
    except ClockSetBack as problem:
        move_back(store, problem.seconds)
        return True


def move_back(store: Store, seconds: float) -> None:
    """Move times back after the clock was set back, so that a back-off or a dead worker's lease does not last for hours.

    Done in short transactions. Several workers may do it at the same time, and after a crash it is repeated: items that
    are moved twice become due too early, which is harmless.
    """
    log.warning("The clock was set back by %.0f s: moving the times of waiting items back with it", seconds)
    with store.read() as tx:
        ids = tx.recovery.ahead_of_time()
    for start in range(0, len(ids), recovery.AT_ONCE):
        some = ids[start : start + recovery.AT_ONCE]
        store.transact(lambda tx, some=some: tx.recovery.move_back(some, seconds))  # type: ignore[misc]
    store.transact(lambda tx: tx.recovery.forget_the_future())


def recover(store: Store, actor: str) -> int:
    """Reclaim items from dead or hung workers, and from tasks that no longer want them."""
    settings = store.settings
    bury_dead(store)
    with store.read() as tx:
        is_idle = not tx.recovery.anything_runs()
    if is_idle:  # Three transactions less for an installation with nothing to do.
        store.transact(_tidy)
        return 0
    lost = _reclaim(
        store,
        actor,
        lambda tx: tx.recovery.reclaim_dead(settings.lease_seconds, settings.crash_limit),
        say("worker_died"),
        say("worker_died_before"),
    )
    hung = _reclaim(
        store,
        actor,
        lambda tx: tx.recovery.reclaim_hung(HANG_GRACE_SECONDS, settings.crash_limit),
        say("worker_hangs"),
        say("worker_hangs_before"),
    )
    idle = _until_none_is_left(lambda: store.transact(lambda tx: _release_idle(tx, settings.look_seconds * 5)))
    store.transact(_tidy)
    return len(lost) + len(hung) + len(idle)


def _until_none_is_left(take: Callable[[], list[LostItem]]) -> list[LostItem]:
    """Call ``take`` repeatedly, in short transactions, until it returns less than it could."""
    found: list[LostItem] = []
    while some := take():
        found += some
        if len(some) < recovery.AT_ONCE:
            break
    return found


def _release_idle(tx: Transaction, grace_seconds: float) -> list[LostItem]:
    """Hand back items that their tasks no longer want."""
    tx.recovery.see_no_future()
    idle = tx.recovery.release_idle(grace_seconds)
    tx.settling.free_permits([item.id for item in idle])
    return idle


def _tidy(tx: Transaction) -> None:
    """Drop stale permits, and workers not seen for long."""
    tx.workers.drop_stale_permits()
    tx.workers.forget_dead(FORGET_WORKERS_SECONDS)
    tx.unstopped.forget_dead()


def bury_dead(store: Store) -> None:
    """Remove workers of this machine whose process is gone, without waiting for their lease to end."""
    with store.read() as tx:
        dead = [
            worker.id
            for worker in tx.workers.all(store.settings.lease_seconds)
            if worker.alive and is_dead(worker.host, worker.pid)
        ]
    for worker in dead:
        store.transact(lambda tx: tx.workers.leave(worker))  # noqa: B023


def _reclaim(
    store: Store, actor: str, take: Callable[[Transaction], list[LostItem]], after: str, before: str
) -> list[LostItem]:
    """Take items back; the reason is ``after`` for those that had begun, and ``before`` for those that may not have."""

    def reclaim(tx: Transaction) -> list[LostItem]:
        lost = take(tx)
        tx.settling.free_permits([item.id for item in lost])
        given_up = {
            item.id: poison(tx, item.task, item.key, item.crashes) for item in lost if item.state == ItemState.FAILED
        }
        tx.settling.put_data(
            [{"item": item, "error_code": "poison", "error_message": message} for item, message in given_up.items()]
        )
        tx.settling.add_attempts(
            [
                {
                    "item": item.id,
                    "lease": item.lease,
                    "outcome": Ending.RECLAIM.outcome,
                    "error_code": "lost",
                    "error_message": after if item.began else before,
                }
                for item in lost
            ]
        )
        tx.events.add(
            [
                {
                    "task": item.task,
                    "actor": actor,
                    "verb": Ending.RECLAIM.event,
                    "source": ItemState.RUNNING.value,
                    "target": item.state,
                    "stage": item.stage,
                    "item": item.key,
                    "reason": given_up.get(item.id, after if item.began else before),
                }
                for item in lost
            ]
        )
        if lost:
            tx.announce()
        return lost

    lost = _until_none_is_left(lambda: store.transact(reclaim))
    for item in lost[:20]:
        log.warning(
            "[%s] %s %s %s: %s; %s",
            actor,
            Ending.RECLAIM.log_word,
            item.stage,
            item.key,
            after if item.began else before,
            "failed as poison" if item.state == ItemState.FAILED else "it runs again",
        )
    return lost


def close(store: Store, pipelines: Pipelines, actor: str) -> int:
    """Advance tasks whose stage is over but whose worker died between its commit and its probe."""
    with store.read() as tx:
        stuck = tx.recovery.unclosed(BATCH)
    moved = 0
    for number in stuck:
        with left_for_later(store, actor):
            moved += move_on(store, pipelines, number, actor) is not None
    return moved


def clean(store: Store, actor: str = "sweep") -> None:
    """Remove unreferenced rows and files, and old answers. A part that fails does not stop the others."""
    _try_each(
        actor,
        f"Trying again in {CLEAN_SECONDS / 60:.0f} minutes",
        ("removing superseded blobs and old answers", lambda: clean_rows(store)),
        ("removing blobs that no row references", lambda: clean_blobs(store)),
        ("removing old scratch files", lambda: clean_scratch(store)),
    )


def _try_each(actor: str, again: str, *parts: tuple[str, Callable[[], object]]) -> None:
    """Run all parts; a failing one is logged and does not stop the others."""
    for what, part in parts:
        try:
            part()
        except Exception as error:
            log.error("[%s] Failed at %s: %s: %s. %s", actor, what, type(error).__name__, error, again, exc_info=error)


def clean_rows(store: Store) -> None:
    """Remove blobs of attempts that do not count, and expired answers."""
    with store.read() as tx:
        superseded = tx.blobs.superseded(CLEAN_ROWS)
    with store.write() as tx:
        superseded = tx.blobs.drop_superseded(superseded)
        if store.settings.answer_days > 0:
            tx.answers.drop_old(store.settings.answer_days, CLEAN_ROWS)
    store.shelf.delete(superseded)


def clean_blobs(store: Store) -> None:
    """Remove old blobs that no row references, from every place that holds files."""
    for place in store.shelf.all():
        clean_place(store, place)


def clean_place(store: Store, place: FileStore) -> int:
    """Remove old blobs that no row references; returns how many.

    A listing of a bucket costs money, so one cleanup lists a limited number of blobs, and the next one continues there. The
    clock of the place decides what is old: a worker with a wrong clock must not remove what is just being written.
    """
    with store.read() as tx:
        begin = tx.file_places.swept_to(place.address)
    found = islice(place.listed(begin), place.listed_at_once)
    threshold, removed, last, count = place.now() - store.settings.stale_hours * 3600, 0, "", 0
    while page := list(islice(found, BATCH)):
        last, count = page[-1].key, count + len(page)
        orphans = unreferenced(store, place, [one.key for one in page if one.written_at < threshold])
        place.delete(orphans)
        removed += len(orphans)
    is_whole = place.listed_at_once is None or count < place.listed_at_once
    if begin or not is_whole:
        store.transact(lambda tx: tx.file_places.note_swept(place.address, "" if is_whole else last))
    return removed


def unreferenced(store: Store, place: FileStore, keys: list[str]) -> list[str]:
    """The given keys that no row references, as far as they certainly belong to this database."""
    if not keys:
        return []
    with store.read() as tx:
        known = tx.blobs.known(keys)
    return store.own_files([key for key in keys if key not in known], place)


def clean_scratch(store: Store) -> None:
    """Remove old scratch files of attempts that died."""
    old = list(old_entries(store.scratch, store.settings.stale_hours * 3600))
    own = set(store.own_scratch([leftover.name for leftover in old]))
    for copy in old_entries(store.shelf.copies.folder, store.settings.stale_hours * 3600):
        remove_file(copy)
    for leftover in (one for one in old if one.name in own):
        remove_file(leftover) if not leftover.is_dir() else shutil.rmtree(leftover, onerror=_resists)


def _resists(_function: object, path: str, problem: Any) -> None:
    if not isinstance(problem[1], FileNotFoundError):
        log.warning("[sweep] Could not remove %s: %s. Trying again at the next cleanup", path, problem[1])
