"""Sets and raises the budget of a task. A task that was paused because its budget was used up continues."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from fanfold.engine.money.shared_budgets import used_up_budget
from fanfold.engine.tasks.moving.transitions import Pipelines, move
from fanfold.engine.tasks.moving.used_up import open_task
from fanfold.errors import BadInput, NotFound
from fanfold.model.lifecycle import TaskState
from fanfold.model.money.amounts import read_amount, told
from fanfold.model.money.budgets import USED_UP
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import Sentence, say
from fanfold.store.rows.money.budgets import BudgetRow, task_scope
from fanfold.store.store import Store, Transaction

UNPRICED = "budget_price_unknown"
WAITING_CODE = "budget"
"""Error code of items that wait for room in a budget."""


@dataclass(frozen=True)
class BudgetChange:
    """The change: the cap by or to an amount in US dollars, and the rules that are not None."""

    by: Any = None
    to: Any = None
    strict: bool | None = None
    allow_unknown_cost: bool | None = None


def change_budget(store: Store, pipelines: Pipelines, number: int, change: BudgetChange, actor: str) -> None:
    """Change the budget in one transaction, and resume the task if the budget was why it was paused."""
    if change.by is not None and change.to is not None:
        raise BadInput(say("budget_by_or_to"))
    by, to = (None if value is None else read_amount(value) for value in (change.by, change.to))
    store.transact(partial(_change, pipelines=pipelines, number=number, by=by, to=to, rules=change, actor=actor))


def _change(
    tx: Transaction,
    pipelines: Pipelines,
    number: int,
    by: int | None,
    to: int | None,
    rules: BudgetChange,
    actor: str,
) -> None:
    row = tx.tasks.lock(number)
    if row is None:
        raise NotFound(say("deleted_meanwhile"))
    before = tx.budgets.get(task_scope(number))
    if before is None and to is None:
        raise BadInput(say("budget_none", task=row.id))
    cap = to if to is not None else (0 if before is None else before.cap) + (by or 0)
    strict = rules.strict if rules.strict is not None else bool(before and before.strict)
    allowed = rules.allow_unknown_cost
    if allowed is None:
        allowed = bool(before and before.allow_unknown)
    tx.budgets.put(task_scope(number), cap, strict=strict, allow_unknown=allowed, task=number)
    reason = say("budget_now", cap=told(cap))
    tx.events.add([{"task": number, "actor": actor, "verb": "budget", "stage": None, "reason": reason}])
    after = tx.budgets.get(task_scope(number))
    assert after is not None
    if row.state is TaskState.PAUSED and _is_over(row, after):
        move(tx, pipelines, row, "resume", TaskState.ACTIVE, actor=actor, values={"reason": None})
    elif used_up_budget(tx, number, row.owner) is None:
        open_task(tx, row)
    tx.batched.wake_for_budget(number, WAITING_CODE)


def _is_over(row: TaskRow, budget: BudgetRow) -> bool:
    """Whether the task is paused because of its budget and has room again."""
    code = row.reason.code if isinstance(row.reason, Sentence) else ""
    if code == UNPRICED:
        return budget.allow_unknown
    return code in USED_UP and budget.taken < budget.cap


def is_outdated(tx: Transaction, number: int, reason: str | None) -> bool:
    """Whether a task about to be paused for its budget has got a larger one meanwhile; the item then asks again."""
    code = reason.code if isinstance(reason, Sentence) else ""
    if code not in (*USED_UP, UNPRICED):
        return False
    assert isinstance(reason, Sentence)
    found = tx.budgets.get(task_scope(number))
    if found is None:
        return False
    return found.allow_unknown if code == UNPRICED else told(found.cap) != reason.parameters["cap"]
