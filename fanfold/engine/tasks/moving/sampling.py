"""Samples: only the first items of a stage are claimed, then the task is paused until somebody has seen what they cost.

The limit is in the task's row, and every claim checks it, so that no worker takes more. Resuming clears it: nothing is written
for each item.
"""

from __future__ import annotations

from fanfold.engine.tasks.moving.transitions import Pipelines, move
from fanfold.engine.tasks.moving.used_up import pause_closed
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.progress import Counts
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.store.store import Transaction


def is_sample_over(tx: Transaction, row: TaskRow) -> bool:
    """Whether the sample of a task's stage has no open item."""
    return row.sample is not None and not tx.items.is_sample_open(row.number, row.stage, row.sample)


def is_stopped(tx: Transaction, row: TaskRow) -> bool:
    """Whether nothing more of a task may be claimed: it is closed, or its sample is over."""
    return row.is_closed or is_sample_over(tx, row)


def end_sample(pipelines: Pipelines, actor: str, number: int, tx: Transaction) -> TaskState | None:
    """Pause a task whose sample is over or that is closed; None if it has moved meanwhile, or its whole stage is over."""
    row = tx.tasks.lock(number)
    if row is None or row.state is not TaskState.ACTIVE or row.resetting is not None or not is_stopped(tx, row):
        return None
    if not tx.items.is_open(number, row.stage):
        return None
    if row.is_closed:
        return pause_closed(tx, pipelines, row, actor)
    counts = tx.counting.counts([number])[number].get(row.stage, Counts())
    done = counts[ItemState.DONE] + counts[ItemState.FAILED]
    reason = say("sampled", count=done, total=counts.total)
    values = {"reason": reason, "sample": None}
    move(tx, pipelines, row, "pause", TaskState.PAUSED, actor=actor, reason=reason, values=values)
    return TaskState.PAUSED
