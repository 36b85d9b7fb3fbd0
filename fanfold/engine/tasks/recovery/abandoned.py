"""Cleans up after processes that died while they wrote or removed many items."""

from __future__ import annotations

import logging
import secrets

from fanfold.engine.tasks.many_items.draft import split_of
from fanfold.model.task import TaskRow
from fanfold.store.items.large.drafts import CHUNK, COPY, NEW, STALE_SECONDS, Draft
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.sweep")
SUBMIT_SECONDS = 600.0
"""Age at which a submit counts as abandoned. It has no worker with a heartbeat, so it gets longer: the machine may have slept."""
DRAFTS, STEPS = 200, 100
"""Most drafts checked per sweep, and most short transactions spent on removing."""


def remove_abandoned(store: Store, actor: str) -> int:
    """Remove the items of abandoned drafts, in bounded steps; returns how many drafts are gone.

    Copies for a task that has yet to advance are left alone: the process that advances it takes them over.
    """
    with store.read() as tx:
        old = [draft for draft in tx.drafts.abandoned(STALE_SECONDS, DRAFTS) if not _is_waiting_copy(tx, draft)]
    gone, steps = 0, STEPS
    for draft in old:
        token = f"sweep {secrets.token_hex(8)}"
        with store.write() as tx:
            taken = _take(tx, draft, token)
        if taken:
            steps = _remove(store, draft, token, steps)
            gone += steps > 0
        if steps <= 0:
            break
    if gone:
        log.info("[%s] Removed the half-written items of dead processes: %d", actor, gone)
    return gone


def _is_waiting_copy(tx: Transaction, draft: Draft) -> bool:
    row = tx.tasks.get(draft.task) if draft.kind == COPY else None
    return row is not None and not _is_entered(row, draft.stage)


def _take(tx: Transaction, draft: Draft, token: str) -> bool:
    """Take over a draft if its items must be removed; a draft whose items are in use is only dropped."""
    row = tx.tasks.lock(draft.task)
    if row is None:
        if draft.seconds < SUBMIT_SECONDS:
            return False
    elif _is_entered(row, draft.stage):
        # A worker of an older version, which does not know drafts, has advanced the task.
        tx.drafts.end(draft.task, [draft.stage])
        return False
    elif draft.kind == COPY or (draft.kind == NEW and (split := split_of(draft.token)) and tx.settling.holds(*split)):
        return False
    return tx.drafts.begin(draft.task, draft.stage, draft.kind, token, stale_seconds=STALE_SECONDS)


def _is_entered(row: TaskRow, stage: str) -> bool:
    """Whether the task is in the stage or past it. A compensation does not show how far the task got."""
    names = [planned.name for planned in row.plan.stages]
    if row.stage == stage:
        return True
    return row.stage in names and stage in names and names.index(row.stage) >= names.index(stage)


def _remove(store: Store, draft: Draft, token: str, steps: int) -> int:
    """Remove the items, and the blobs of a task that was never created; returns the steps left, 0 if there is more to do."""
    keys: list[str] = []
    over = False

    def step(tx: Transaction) -> bool:
        nonlocal over
        keys.clear()
        if not tx.drafts.refresh(draft.task, draft.stage, token):
            over = True
            return False
        if tx.tasks.get(draft.task) is None:
            keys.extend(tx.blobs.drop_some(draft.task, CHUNK))
        over = tx.drafts.remove_items(draft.task, draft.stage) and not keys
        if over:
            tx.drafts.end(draft.task, [draft.stage])
        elif steps == 1:
            tx.drafts.let_go(draft.task, draft.stage, token)
        return True

    while not over and steps > 0:
        store.transact(step)
        store.shelf.delete(keys)
        steps -= 1
    return max(steps, 1) if over else 0
