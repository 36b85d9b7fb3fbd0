"""What a task may spend and has spent, for people."""

from __future__ import annotations

from fanfold.engine.queries.lookup import Lookup
from fanfold.engine.queries.task_view import view
from fanfold.model.task import Task, TaskRow
from fanfold.model.values.budgets import Budget
from fanfold.model.values.money import dollars
from fanfold.store.rows.budgets import task_scope
from fanfold.store.store import Transaction


class BudgetQueries:
    """Questions about budgets."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup

    def budget(self, task_id: str) -> Budget:
        """What a task may spend, has spent, and has reserved; without a budget, what it has spent."""
        row = self.lookup.row(task_id)
        with self.lookup.store.read() as tx:
            return budget_of(tx, row, view(self.lookup.store, tx, [row])[0])

    def of(self, task: Task) -> Budget:
        """The budget of a task that was just looked at: its items are not counted again."""
        row = self.lookup.row(task.id)
        with self.lookup.store.read() as tx:
            return budget_of(tx, row, task)


def budget_of(tx: Transaction, row: TaskRow, task: Task) -> Budget:
    """The budget of a task, with what it will have spent at its end."""
    found = tx.budgets.get(task_scope(row.number))
    if found is None:
        return Budget(None, task.spending.cost, unpriced=task.spending.unpriced, projected=projected(task))
    return Budget(
        dollars(found.cap),
        dollars(found.spent),
        dollars(found.reserved if found.is_open else 0),
        dollars(found.unknown + (0 if found.is_open else found.reserved)),
        max(found.unpriced, task.spending.unpriced),
        found.strict,
        found.allow_unknown,
        projected(task),
    )


def projected(task: Task) -> float | None:
    """What a task will have spent at its end, if the items that are left cost what the others did; None when unknown."""
    if not task.spending.calls or not task.spending.cost:
        return None
    if task.finished:
        return task.spending.cost
    ended = task.done + task.failed
    return task.spending.cost * max(1.0, task.total / ended) if ended else None
