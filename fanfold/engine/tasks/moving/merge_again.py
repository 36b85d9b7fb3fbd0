"""Merges again because of decisions: when it is due, and the move into it. Called under the task's lock.

A merge attempt notes, before it reads any result, the last decision there is. Whoever moves the task on compares: a decision
behind that one was perhaps not read, so the merge is done once more. Many decisions in quick succession cause one merge, since
its item is due only a short quiet time after the last of them. That time stands in the database; no process waits for it.
"""

from __future__ import annotations

from fanfold.engine.tasks.moving.transitions import Pipelines, move
from fanfold.model.lifecycle import TaskState
from fanfold.model.plan import PlannedStage
from fanfold.model.task import TaskRow
from fanfold.store.store import Transaction

LONGEST_SECONDS = 5.0
"""Decisions that never pause do not put the merge off for longer than this."""
MORE_SECONDS = 15.0
"""While one call still writes decisions, the merge waits so long for its next chunk; a call that dies holds it up no longer."""


def overdue_merge(tx: Transaction, row: TaskRow) -> PlannedStage | None:
    """The merge that a task must go through (again) before it leaves its stage: a decision came after it had begun."""
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
    """Move a task whose merge is done back into it; False when it is not done, so that nothing is to be repeated."""
    if not tx.decisions.reopen(row.number, merge.name, _delay(tx, row, merge, more)):
        return False
    move(tx, pipelines, row, "decide", TaskState.ACTIVE, actor=actor, stage=merge.name, reason=reason)
    return True


def make_due(tx: Transaction, pipelines: Pipelines, row: TaskRow, actor: str, reason: str, *, more: bool) -> None:
    """Have the decisions that were just written merged, where no merge is yet to come that will read them.

    ``more``: the same call writes further ones.
    """
    merge = None if row.ending else overdue_merge(tx, row)
    if merge is None:
        return
    if row.state is TaskState.COMPLETED or (row.state is TaskState.WAITING and row.stage != merge.name):
        merge_again(tx, pipelines, row, merge, actor, reason, more=more)
    elif row.state in (TaskState.ACTIVE, TaskState.PAUSED) and row.stage == merge.name:
        tx.decisions.put_off(row.number, merge.name, _delay(tx, row, merge, more))


def _delay(tx: Transaction, row: TaskRow, merge: PlannedStage, more: bool) -> float:
    """Seconds until the merge is due: its quiet time after the last decision, but not much more than that after the first."""
    if more:
        return MORE_SECONDS
    first, last = tx.decisions.seconds_since(row.number, tx.decisions.seen(row.number, merge.name))
    longest = max(LONGEST_SECONDS, merge.quiet_seconds)
    return max(0.0, min(merge.quiet_seconds - last, longest - first))
