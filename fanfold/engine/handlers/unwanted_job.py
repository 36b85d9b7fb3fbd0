"""Tells people about external jobs whose results nobody will use, and which may be paid for."""

from __future__ import annotations

from fanfold.model.text.sentences import Sentence, say
from fanfold.store.store import Transaction


def unwanted(job: str, key: str, *, late: bool, cancelled: bool) -> Sentence:
    """What happened: ``late`` if a worker that had lost the item started the job, else it is from before a redo."""
    if late:
        if cancelled:
            return say("external_late_cancelled", job=job, key=key)
        return say("external_late", job=job, key=key)
    if cancelled:
        return say("external_before_redo_cancelled", job=job, key=key)
    return say("external_before_redo", job=job, key=key)


def note_unwanted(tx: Transaction, task: int, stage: str, item: str, reason: Sentence) -> None:
    """Keep the event, unless the task is gone."""
    if tx.tasks.lock(task) is None:
        return
    tx.events.add([{"task": task, "actor": "worker", "verb": "late", "stage": stage, "item": item, "reason": reason}])
