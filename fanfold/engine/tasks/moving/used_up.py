"""Stops a task whose handlers have used up its budget with costs that they report themselves.

Such costs are known only when an attempt is over, so nothing can be reserved for them. Pausing at once would hand back the
items that run, and what they cost would be paid again. So the task is first closed: no worker claims more of its items. It is
paused when none of them runs. A closed task has a negative sample, which every claim checks anyway.
"""

from __future__ import annotations

from functools import partial

from fanfold.engine.tasks.moving.transitions import Pipelines, move
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.money.amounts import told
from fanfold.model.task import TaskRow, closed_sample
from fanfold.model.text.sentences import say
from fanfold.store.rows.money.budgets import BudgetRow, task_scope
from fanfold.store.store import Store, Transaction


def close_task(store: Store, number: int) -> None:
    """Let nobody claim more items of a task, unless its budget was raised meanwhile."""
    store.transact(partial(_close, number=number))


def _close(tx: Transaction, number: int) -> None:
    row = tx.tasks.lock(number)
    if row is None or row.state is not TaskState.ACTIVE or row.is_closed or row.ending is not None:
        return
    if is_used_up(tx.budgets.get(task_scope(number))):
        tx.tasks.move(number, sample=closed_sample(row.sample))


def is_used_up(budget: BudgetRow | None) -> bool:
    """Whether the whole budget is spent, or may be."""
    return budget is not None and budget.taken >= budget.cap


def pause_closed(tx: Transaction, pipelines: Pipelines, row: TaskRow, actor: str) -> TaskState | None:
    """Pause a closed task whose row is locked, unless an item still runs; open it if its budget was raised meanwhile."""
    if tx.items.any_in(row.number, row.stage, (ItemState.RUNNING,)):
        return None
    budget = tx.budgets.get(task_scope(row.number))
    if budget is None or not is_used_up(budget):
        open_task(tx, row)
        return None
    reason = say("budget_spent_own", spent=told(budget.spent), cap=told(budget.cap), task=row.id)
    move(tx, pipelines, row, "pause", TaskState.PAUSED, actor=actor, reason=reason, values={"reason": reason})
    return TaskState.PAUSED


def open_task(tx: Transaction, row: TaskRow) -> None:
    """Let workers claim items of a closed task again."""
    if row.is_closed:
        tx.tasks.move(row.number, sample=row.opened_sample)
        tx.announce()
