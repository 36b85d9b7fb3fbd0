"""Applies the budget of this run to a task that an earlier run began."""

from __future__ import annotations

from fanfold.engine.client import Client
from fanfold.model.money.amounts import dollars
from fanfold.model.money.budgets import BudgetWish
from fanfold.model.task import Task


def apply_budget(client: Client, task: Task, wanted: BudgetWish | None) -> Task:
    """The task, with the budget of this run if one was given. A task that its budget had paused may then continue."""
    if wanted is None or task.finished:
        return task
    allowed = wanted.allow_unknown_cost
    return client.raise_budget(task.id, to=dollars(wanted.cap), strict=wanted.strict, allow_unknown_cost=allowed)
