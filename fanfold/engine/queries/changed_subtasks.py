"""Finds subtasks that were redone after an item had used their result: the item still has the earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.task import Task, TaskOrder, TaskRow
from fanfold.model.text.sentences import Sentence, say
from fanfold.store.rows.tasks import Filter
from fanfold.store.store import Transaction

LOOKED_AT = 20
"""Subtasks that are looked at, last changed first: a task may have thousands, and this is read with every view of it."""
STEERED = ("retry", "rerun", "merge", "decide")
"""Events after which a completed task gets another result."""


def changed_subtasks(tx: Transaction, row: TaskRow, task: Task) -> Sentence | None:
    """Which subtasks were redone since their result was used, and what to do; None if none was."""
    if not task.subtasks.get(TaskState.COMPLETED):
        return None
    wanted = Filter((TaskState.COMPLETED.value,), limit=LOOKED_AT, parent=row.number, order=TaskOrder.UPDATED)
    children = tx.tasks.find(wanted)
    origins = tx.subtasks.origins([child.number for child in children])
    used = _used_at(tx, row.number, list(origins.values()))
    changed = [child for child in children if _is_newer(tx, child, used)]
    if not changed:
        return None
    places = dict.fromkeys(origins[child.number][1:] for child in changed)
    return say(
        "subtasks_changed",
        count=len(changed),
        tasks=[child.id for child in changed],
        items=[f"{stage} {key}" for stage, key in places],
        task=row.id,
    )


def _used_at(
    tx: Transaction, parent: int, origins: Sequence[tuple[str, str | None, str | None]]
) -> dict[int, datetime]:
    """When the items that submitted these subtasks were done, by id."""
    keys: dict[str, list[str]] = {}
    for _, stage, key in origins:
        if stage is not None and key is not None:
            keys.setdefault(stage, []).append(key)
    return {
        item.id: item.finished_at
        for stage, named in keys.items()
        for item in tx.reading.page(
            parent, stage=stage, keys=list(dict.fromkeys(named)), states=[ItemState.DONE.value], bodies=False
        )
        if item.finished_at is not None
    }


def _is_newer(tx: Transaction, child: TaskRow, used: dict[int, datetime]) -> bool:
    """Whether the subtask was redone after its item was done. One that the item did not wait for just ends later."""
    used_at = used.get(child.parent_item or 0)
    if used_at is None or child.finished_at is None or child.finished_at <= used_at:
        return False
    redone_at = tx.events.last_at(child.number, STEERED)
    return redone_at is not None and redone_at >= used_at and tx.subtasks.is_wanted(child.number)
