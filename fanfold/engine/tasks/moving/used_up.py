"""Stops a task whose handlers have used up a budget with costs that they report themselves.

Such costs are known only when an attempt is over, so nothing can be reserved for them. Pausing at once would hand back the
items that run, and what they cost would be paid again. So the task is first closed: no worker claims more of its items. It is
paused when none of them runs.

A stage that reports no costs (`spends=False`) is not closed: what was paid for is still watermarked, merged and delivered. The
next stage that may spend is closed when the task enters it.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from fanfold.engine.money.shared_budgets import used_up_budget
from fanfold.engine.tasks.moving.transitions import Pipelines, move
from fanfold.errors import IllegalMove
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.money.amounts import told
from fanfold.model.money.shared_budgets import whose
from fanfold.model.plan import PlannedStage
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import Sentence, say
from fanfold.store.rows.money.budgets import BudgetRow, task_scope
from fanfold.store.store import Store, Transaction

OWN_COSTS = ("budget_spent_own", "budget_shared_spent_own")
"""Codes of the reasons with which such a task is paused."""


def close_task(store: Store, number: int) -> None:
    """Let nobody claim more items of a task, unless its budget was raised meanwhile.

    A task that a person has paused is closed too: what was running then may have used up the budget.
    """
    store.transact(partial(_close, number=number))


def _close(tx: Transaction, number: int) -> None:
    row = tx.tasks.lock(number)
    if row is None or row.state not in (TaskState.ACTIVE, TaskState.PAUSED) or row.is_closed or row.ending is not None:
        return
    if not row.plan.stage(row.stage).spends:  # Another worker may have moved the task on since the cost was settled.
        return
    if used_up_budget(tx, number, row.owner) is not None:
        tx.tasks.close(number)


def closed_on_entering(tx: Transaction, row: TaskRow, stage: PlannedStage) -> dict[str, Any]:
    """The values that close a task which enters a stage that may spend, if an earlier stage has used up a budget.

    Only after a stage that was closed, or that spends nothing and so was not: elsewhere the stage that spent was closed.
    """
    was_skipped = row.is_closed or not row.plan.stage(row.stage).spends
    if not (stage.spends and was_skipped) or used_up_budget(tx, row.number, row.owner) is None:
        return {}
    return {"closed_at": tx.time()}


def pause_closed(tx: Transaction, pipelines: Pipelines, row: TaskRow, actor: str) -> TaskState | None:
    """Pause a closed task whose row is locked, unless an item still runs; open it if its budget was raised meanwhile."""
    if tx.items.any_in(row.number, row.stage, (ItemState.RUNNING,)):
        return None
    budget = used_up_budget(tx, row.number, row.owner)
    if budget is None:
        open_task(tx, row)
        return None
    reason = _why(budget, row)
    move(tx, pipelines, row, "pause", TaskState.PAUSED, actor=actor, reason=reason, values={"reason": reason})
    return TaskState.PAUSED


def refuse_resume(tx: Transaction, row: TaskRow) -> None:
    """IllegalMove if costs of its handlers have used up a task's budget and it is not raised.

    Each resume would begin, and pay for, as many items as there are slots before the task is paused again. Calls of models need
    no such check: none is sent without room in the budget, and cached answers cost nothing.
    """
    if not row.is_closed and not (isinstance(row.reason, Sentence) and row.reason.code in OWN_COSTS):
        return
    budget = used_up_budget(tx, row.number, row.owner)
    if budget is not None:
        raise IllegalMove(_why(budget, row))


def _why(budget: BudgetRow, row: TaskRow) -> Sentence:
    spent, cap = told(budget.spent), told(budget.cap)
    if budget.scope == task_scope(row.number):
        return say("budget_spent_own", spent=spent, cap=cap, task=row.id)
    return say("budget_shared_spent_own", whose=whose(budget.scope), spent=spent, cap=cap)


def open_task(tx: Transaction, row: TaskRow) -> None:
    """Let workers claim items of a closed task again."""
    if row.is_closed:
        tx.tasks.move(row.number, closed_at=None)
        tx.announce()
