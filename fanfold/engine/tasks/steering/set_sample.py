"""Limits an unfinished task to a sample: its first items are processed, then it is paused."""

from __future__ import annotations

from fanfold.engine.tasks.moving.transitions import Pipelines, move
from fanfold.errors import NotFound
from fanfold.model.lifecycle import TaskState
from fanfold.model.text.sentences import say
from fanfold.store.store import Store, Transaction


def set_sample(store: Store, pipelines: Pipelines, number: int, count: int, actor: str) -> None:
    """Let only the first ``count`` items be claimed from now on; a paused task resumes for them. Others stay as they are."""
    store.transact(lambda tx: _set(tx, pipelines, number, count, actor))


def _set(tx: Transaction, pipelines: Pipelines, number: int, count: int, actor: str) -> None:
    row = tx.tasks.lock(number)
    if row is None:
        raise NotFound(say("deleted_meanwhile"))
    if row.state is TaskState.PAUSED:
        values = {"reason": None, "sample": count}
        move(tx, pipelines, row, "resume", TaskState.ACTIVE, actor=actor, values=values)
    elif row.state is TaskState.ACTIVE:
        tx.tasks.move(number, sample=count)
        reason = say("sample_set", count=count)
        tx.events.add([{"task": number, "actor": actor, "verb": "sample", "stage": row.stage, "reason": reason}])
