"""Repeats a merge after new decisions: decides when it is due, and moves the task into it. Called under the task's lock.

A merge attempt records the last decision before it reads any result. When the task is advanced, a later decision may not have
been read, so the merge runs once more. Many decisions in quick succession cause one merge, because its item is due only a
short quiet time after the last of them. That time is stored in the database; no process waits for it.
"""

from __future__ import annotations

from fanfold.engine.tasks.moving.transitions import Pipelines, move
from fanfold.model.lifecycle import TaskState
from fanfold.model.plan import PlannedStage
from fanfold.model.task import TaskRow
from fanfold.store.store import Transaction

LONGEST_SECONDS = 5.0
"""Longest delay of the merge if decisions keep coming."""
MORE_SECONDS = 15.0
"""How long the merge waits for the next chunk of a call that still writes decisions; a call that dies delays it no longer."""


def overdue_merge(tx: Transaction, row: TaskRow) -> PlannedStage | None:
    """The merge that must run (again) before a task leaves its stage, because a decision came after the merge started."""
    if row.decided is None:
        return None
    merge = row.plan.merge_to_repeat(row.stage)
    return merge if merge is not None and row.decided > tx.decisions.seen(row.number, merge.name) else None


def merge_again(
    tx: Transaction,
    pipelines: Pipelines,
    row: TaskRow,
    merge: PlannedStage,
    actor: str,
    reason: str,
    *,
    more: bool = False,
) -> bool:
    """Move a task back into its merge if that is done; False if it is not, and nothing needs to be repeated."""
    if not tx.decisions.reopen(row.number, merge.name, _delay(tx, row, merge, more)):
        return False
    move(tx, pipelines, row, "decide", TaskState.ACTIVE, actor=actor, stage=merge.name, reason=reason)
    return True


def make_due(tx: Transaction, pipelines: Pipelines, row: TaskRow, actor: str, reason: str, *, more: bool) -> None:
    """Make a merge due for the decisions just written, unless a later merge will read them anyway.

    ``more``: the same call will write further decisions.
    """
    merge = None if row.ending else overdue_merge(tx, row)
    if merge is None:
        return
    if row.state is TaskState.COMPLETED or (row.state is TaskState.WAITING and row.stage != merge.name):
        merge_again(tx, pipelines, row, merge, actor, reason, more=more)
    elif row.state in (TaskState.ACTIVE, TaskState.PAUSED) and row.stage == merge.name:
        tx.decisions.put_off(row.number, merge.name, _delay(tx, row, merge, more))


def _delay(tx: Transaction, row: TaskRow, merge: PlannedStage, more: bool) -> float:
    """Seconds until the merge is due: the quiet time after the last decision, limited to LONGEST_SECONDS after the first."""
    if more:
        return MORE_SECONDS
    first, last = tx.decisions.seconds_since(row.number, tx.decisions.seen(row.number, merge.name))
    longest = max(LONGEST_SECONDS, merge.quiet_seconds)
    return max(0.0, min(merge.quiet_seconds - last, longest - first))
