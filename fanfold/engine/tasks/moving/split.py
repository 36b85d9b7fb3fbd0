"""Finishes a split: its item is done, and the task enters the next stage with all of its items or none.

A few items are written in the transaction that moves the task. Many are written before it, in short transactions, hidden by a
draft; the last transaction is the same. A worker that has lost the split's lease stops at the next chunk.
"""

from __future__ import annotations

from collections.abc import Callable

from fanfold.engine.tasks.many_items.draft import remove_items, split_token, write_items
from fanfold.engine.tasks.many_items.leftovers import Leftovers
from fanfold.engine.tasks.moving.advance import COUNTINGS, advance_locked
from fanfold.engine.tasks.moving.copy_items import move_on
from fanfold.engine.tasks.moving.counts import Ahead, OutOfDate, count_ahead
from fanfold.engine.tasks.moving.transitions import Pipelines
from fanfold.engine.telemetry.telling import left_stage
from fanfold.engine.worker.attempt.attempt_result import Settlement, unstorable
from fanfold.engine.worker.attempt.settle_batch import settle
from fanfold.errors import BadInput, DatabaseProblem
from fanfold.model.lifecycle import TaskState
from fanfold.model.plan import Plan
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.store.database_errors import REFUSED
from fanfold.store.items.large.drafts import NEW, OLD
from fanfold.store.store import Store, Transaction


def finish_split(store: Store, pipelines: Pipelines, worker: str, one: Settlement) -> bool:
    """Finish a split's item and enter the next stage with all its items; returns whether the task moved."""
    new_items = one.new_items
    assert new_items is not None
    try:
        before = _before(store, one) if store.settings.telemetry else None
        moved = _finish(store, pipelines, worker, one)
        if before is not None:
            left_stage(store.settings, before, moved)
    except (BadInput, DatabaseProblem) as problem:
        if isinstance(problem, DatabaseProblem) and problem.code != REFUSED:
            raise
        failed = refused(one, problem)
        store.transact(lambda tx: settle(tx, [failed], worker, store.settings.crash_limit))
        moved = move_on(store, pipelines, one.claimed.task, worker)
    new_items.remove()
    return moved is not None


def _before(store: Store, one: Settlement) -> TaskRow | None:
    """The task as it is before the move."""
    with store.read() as tx:
        return tx.tasks.get(one.claimed.task)


def refused(one: Settlement, problem: BadInput | DatabaseProblem) -> Settlement:
    """The settlement for a split whose items cannot be stored, with the reason."""
    duplicate = one.new_items.first_duplicate() if one.new_items is not None and isinstance(problem, BadInput) else None
    said = say("split_duplicate", stage=one.claimed.stage, key=duplicate) if duplicate else problem.message
    return unstorable(one, said)


def write_split(store: Store, plan: Plan, one: Settlement, stopped: Callable[[], bool] = lambda: False) -> bool:
    """Write the items of a split, hidden, in short transactions; False if the lease is lost or ``stopped``.

    Items of an earlier split of the task, and everything made from them, are removed first. If the database was unreachable,
    call it again: it continues where it was.
    """
    claimed, new_items = one.claimed, one.new_items
    target = plan.after(claimed.stage)
    assert new_items is not None
    assert target is not None
    task, token = claimed.task, split_token(claimed.id, claimed.lease)

    def held(tx: Transaction) -> bool:
        return not stopped() and tx.settling.holds(claimed.id, claimed.lease)

    if not new_items.cleared:
        found: list[str] = []
        later = [stage.name for stage in plan.stages[plan.index(target.name) :]]
        # This may read all items, so it is outside the transaction. That is safe: no later stage starts while the lease is held.
        with store.read() as look:
            new_items.begun = new_items.begun or look.items.have_begun(task, target.name)

        def begin(tx: Transaction) -> bool:
            found[:] = [stage for stage in later if tx.drafts.holds_items(task, stage)]
            if not held(tx):
                return False
            # From here on the handler's time limit no longer applies; the heartbeat still does.
            tx.settling.drop_deadline(claimed.id)
            for stage in found:
                tx.drafts.begin(task, stage, OLD, token)
            return tx.drafts.begin(task, target.name, NEW, token)

        if not store.transact(begin):
            return False
        for stage in found:
            if not remove_items(store.transact, task, stage, token, may=held):
                return False
        new_items.cleared = True
    if not write_items(store.transact, task, target.name, token, new_items, may=held):
        return False
    store.transact(lambda tx: tx.items.analyze(new_items.count))
    new_items.token = token
    return True


def _finish(store: Store, pipelines: Pipelines, worker: str, one: Settlement) -> TaskState | None:
    assert one.new_items is not None
    if one.new_items.token is None and one.new_items.fits_one_chunk:
        try:
            return _move(store, pipelines, worker, one)
        except Leftovers:
            pass
    if one.new_items.token is None:
        with store.read() as tx:
            row = tx.tasks.get(one.claimed.task)
        if row is None or not write_split(store, row.plan, one):
            return None
    return _move(store, pipelines, worker, one)


def _move(store: Store, pipelines: Pipelines, worker: str, one: Settlement) -> TaskState | None:
    """Move the task. Items missing in the phases before the split, if any, are counted ahead."""
    for _ in range(COUNTINGS):
        try:
            return _move_once(store, pipelines, worker, one, _count_phases(store, one))
        except OutOfDate:
            continue
    return _move_once(store, pipelines, worker, one, None)


def _count_phases(store: Store, one: Settlement) -> Ahead | None:
    with store.read() as tx:
        row = tx.tasks.get(one.claimed.task)
        return count_ahead(tx, row) if row is not None and row.plan.chains(one.claimed.stage) else None


def _move_once(
    store: Store, pipelines: Pipelines, worker: str, one: Settlement, ahead: Ahead | None
) -> TaskState | None:
    """The one transaction in which the items of the next stage appear."""
    with store.write() as tx:
        row = tx.tasks.lock(one.claimed.task)
        held = row is not None and _is_ours(tx, row.plan, one)
        held = held and bool(settle(tx, [one], worker, store.settings.crash_limit))
        if row is None or not held:
            return None
        return advance_locked(tx, pipelines, row, worker, new_items=one.new_items, ahead=ahead)


def _is_ours(tx: Transaction, plan: Plan, one: Settlement) -> bool:
    """Whether the items written before, if any, are still unchanged."""
    target = plan.after(one.claimed.stage)
    if one.new_items is None or one.new_items.token is None or target is None:
        return True
    # Lock the item's row before the draft's, in the same order as when a chunk is written.
    held = tx.settling.holds(one.claimed.id, one.claimed.lease)
    return held and tx.drafts.refresh(one.claimed.task, target.name, one.new_items.token)
