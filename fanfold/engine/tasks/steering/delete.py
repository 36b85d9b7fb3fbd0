"""Deletes tasks on a person's command, and prunes those that finished long ago."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from fanfold.engine.tasks.moving.transitions import Pipelines, can_move, left_for_later, move
from fanfold.model.lifecycle import FINISHED_TASKS
from fanfold.model.task import TaskRow
from fanfold.store.rows.removal import RemovalPlace
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.sweep")
BATCH = 500
SLICE_SECONDS = 2.0
"""Time that one sweep spends on removing old and deleted tasks, so that recovery is not delayed."""


def remove(tx: Transaction, pipelines: Pipelines, row: TaskRow, verb: str, actor: str) -> bool:
    """Remove as much of a task as one short transaction can; its row is locked. True when nothing is left."""
    move(tx, pipelines, row, verb, None, actor=actor)
    tx.removal.begin(row.number)
    gone = tx.removal.remove_some(row.number) and not tx.removal.files(row.number, 1)
    gone = gone and not tx.subtasks.children(row.number, 1)
    if gone:
        tx.removal.end(row.number)
    return gone


def finish_removal(
    store: Store, pipelines: Pipelines, actor: str, number: int, is_late: Callable[[], bool] = lambda: False
) -> bool:
    """Remove the rest of a deleted task in short transactions; False if something is left for the next sweep.

    Its subtasks go too. Files go before the rows that reference them, so that after a crash in between the rows still list them.
    """
    place = RemovalPlace()
    while not store.transact(lambda tx: tx.removal.remove_some(number, place=place)):
        if is_late():
            return False
    while True:
        with store.read() as tx:
            keys = tx.removal.files(number)
        if not keys:
            break
        store.shelf.delete(keys)
        store.transact(lambda tx, keys=keys: tx.removal.unname(keys))  # type: ignore[misc]
        if is_late():
            return False
    from fanfold.engine.tasks.steering.follow_parent import remove_subtasks

    if not remove_subtasks(store, pipelines, actor, number, is_late):
        return False
    store.transact(lambda tx: tx.removal.end(number))
    return True


def remove_deleted(store: Store, pipelines: Pipelines, actor: str, is_late: Callable[[], bool]) -> int:
    """Continue interrupted removals; returns how many tasks are gone now."""
    with store.read() as tx:
        unfinished = tx.removal.unfinished(BATCH)
    gone = 0
    for number in unfinished:
        gone += finish_removal(store, pipelines, actor, number, is_late)
        if is_late():
            break
    return gone


def prune(
    store: Store,
    pipelines: Pipelines,
    actor: str,
    days: float | None = None,
    is_late: Callable[[], bool] = lambda: False,
) -> int:
    """Remove all tasks that finished longer ago than the retention time, or ``days``; returns how many.

    It stops when the time is up; the next sweep continues.
    """
    age = store.settings.retention_days if days is None else days
    removed = stuck = 0
    while age > 0 and not is_late():
        with store.read() as tx:
            old = tx.tasks.finished_before(age, BATCH, skip=stuck)
        for task in old:
            if is_late():
                return removed
            gone = can_move(pipelines, task) and _prune_one(store, pipelines, actor, task.number, age)
            removed += gone
            stuck += not gone
        if len(old) < BATCH:
            break
    return removed


def _prune_one(store: Store, pipelines: Pipelines, actor: str, number: int, age: float) -> bool:
    def decide(tx: Transaction) -> tuple[str, bool] | None:
        row = tx.tasks.lock(number)
        if row is None or row.state not in FINISHED_TASKS or not can_move(pipelines, row):
            return None
        return row.id, remove(tx, pipelines, row, "prune", actor)

    pruned = None
    with left_for_later(store, actor):
        pruned = store.transact(decide)
    if pruned is None:
        return False
    task_id, gone = pruned
    if not gone:
        finish_removal(store, pipelines, actor, number)
    log.info("[%s] Pruned %s: finished more than %g days ago", actor, task_id, age)
    return True


def late_after(seconds: float) -> Callable[[], bool]:
    """A function that tells whether ``seconds`` have passed."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end
