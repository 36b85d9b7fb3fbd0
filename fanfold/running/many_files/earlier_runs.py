"""Continues or abandons a task of an earlier run."""

from __future__ import annotations

from fanfold.engine.client import Client
from fanfold.errors import IllegalMove
from fanfold.model.lifecycle import FINISHED_TASKS, TaskState
from fanfold.model.money.budgets import BudgetWish
from fanfold.model.task import Task, TaskRow
from fanfold.running.budgets import apply_budget


def leave(client: Client, before: TaskRow) -> None:
    """Abandon a task of an earlier run: it is cancelled, and its key is free."""
    if before.state not in FINISHED_TASKS:
        try:
            client.cancel(before.id, "started over with --fresh")
        except IllegalMove:
            pass  # It has just ended.
    with client.store.write() as tx:
        tx.tasks.drop_key(before.number)


def go_on(client: Client, task: Task, budget: BudgetWish | None = None) -> Task:
    """Prepare a task of an earlier run so that only its remaining items are done."""
    task = apply_budget(client, task, budget)
    if task.state in (TaskState.PAUSED, TaskState.WAITING):
        return client.resume(task.id)
    return client.retry(task.id) if task.finished and not is_done(task) else task


def is_done(task: Task) -> bool:
    """Whether the task has nothing left to do."""
    return task.state is TaskState.COMPLETED and not task.failed
