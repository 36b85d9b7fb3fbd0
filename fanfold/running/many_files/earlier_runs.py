"""Tasks of earlier runs: going on with what is left of one, or leaving it behind."""

from __future__ import annotations

from fanfold.engine.client import Client
from fanfold.errors import IllegalMove
from fanfold.model.lifecycle import FINISHED_TASKS, TaskState
from fanfold.model.task import Task, TaskRow
from fanfold.model.values.budgets import BudgetWish
from fanfold.running.budgets import apply_budget


def leave(client: Client, before: TaskRow) -> None:
    """What was begun before is not wanted any more: nobody goes on with it, and its key is free."""
    if before.state not in FINISHED_TASKS:
        try:
            client.cancel(before.id, "begun anew")
        except IllegalMove:
            pass  # It has ended just now.
    with client.store.write() as tx:
        tx.tasks.drop_key(before.number)


def go_on(client: Client, task: Task, budget: BudgetWish | None = None) -> Task:
    """Move a task that was begun before so that only what is left of it is done."""
    task = apply_budget(client, task, budget)
    if task.state in (TaskState.PAUSED, TaskState.WAITING):
        return client.resume(task.id)
    return client.retry(task.id) if task.finished and not is_done(task) else task


def is_done(task: Task) -> bool:
    """Whether nothing of it is left to do."""
    return task.state is TaskState.COMPLETED and not task.failed
