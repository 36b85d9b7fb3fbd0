"""Queries about budgets: what a task may spend, has spent and has reserved."""

from __future__ import annotations

from fanfold.engine.queries.lookup import Lookup
from fanfold.engine.queries.task_view import view
from fanfold.model.money.amounts import dollars
from fanfold.model.money.budgets import Budget
from fanfold.model.plan import Kind, Plan
from fanfold.model.task import Task, TaskRow
from fanfold.store.rows.money.budgets import task_scope
from fanfold.store.store import Transaction


class BudgetQueries:
    """Queries about budgets."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup

    def budget(self, task_id: str) -> Budget:
        """What a task may spend, has spent, and has reserved; without a budget, what it has spent."""
        row = self.lookup.row(task_id)
        with self.lookup.store.read() as tx:
            return budget_of(tx, row, view(self.lookup.store, tx, [row])[0])

    def of(self, task: Task) -> Budget:
        """The budget of a task whose items were just counted; they are not counted again."""
        row = self.lookup.row(task.id)
        with self.lookup.store.read() as tx:
            return budget_of(tx, row, task)


def budget_of(tx: Transaction, row: TaskRow, task: Task) -> Budget:
    """The budget of a task, with the expected cost at its end."""
    found = tx.budgets.get(task_scope(row.number))
    if found is None:
        return Budget(None, task.spending.cost, unpriced=task.spending.unpriced, projected=projected(tx, row, task))
    return Budget(
        dollars(found.cap),
        dollars(found.spent),
        dollars(found.reserved if found.is_open else 0),
        dollars(found.unknown + (0 if found.is_open else found.reserved)),
        max(found.unpriced, task.spending.unpriced),
        found.strict,
        found.allow_unknown,
        projected(tx, row, task),
    )


def projected(tx: Transaction, row: TaskRow, task: Task) -> float | None:
    """The expected cost at the end of a task, if the remaining items cost what the others did; None if unknown.

    Only items that are over say what an item costs. What the others have cost so far is part of what they will cost. Before
    another stage with items it is unknown: nothing says what those will cost.
    """
    if not task.spending.calls or not task.spending.cost:
        return None
    if task.finished:
        return task.spending.cost
    ended = task.done + task.failed
    if _has_more_items(row.plan, task.counted):
        return None
    if ended == task.total:
        return task.spending.cost
    if not ended:
        return None
    over, begun = tx.costs.of_stage(row.number, task.counted)
    rest = over / ended * (task.total - ended)
    return task.spending.cost - begun + max(begun, rest)


def _has_more_items(plan: Plan, stage: str) -> bool:
    """Whether a later stage has items of its own. The stage after a split has those that the split is about to make."""
    names = [one.name for one in plan.stages]
    behind = plan.stages[names.index(stage) + 1 :] if stage in names else ()
    return any(one.kind is Kind.EACH for one in behind)
