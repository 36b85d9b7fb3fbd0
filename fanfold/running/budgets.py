"""The budget of a task that was begun by an earlier run: what is said now counts."""

from __future__ import annotations

from fanfold.engine.client import Client
from fanfold.model.task import Task
from fanfold.model.values.budgets import BudgetWish
from fanfold.model.values.money import dollars


def apply_budget(client: Client, task: Task, wanted: BudgetWish | None) -> Task:
    """The task with the budget that is wanted now, if one is; a task that its budget had paused may go on with that."""
    if wanted is None or task.finished:
        return task
    allowed = wanted.allow_unknown_cost
    return client.raise_budget(task.id, to=dollars(wanted.cap), strict=wanted.strict, allow_unknown_cost=allowed)
