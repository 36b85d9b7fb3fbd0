"""Counts the questions of tasks in the batch lane by state, and finds what their batches have trouble with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import sqlalchemy as sa

from fanfold.model.money.batch import BatchState, LaneCounts
from fanfold.model.text.sentences import restored
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.money.batch_tables import OPEN_BATCH, SENT, batch_members, batches

MOST_TROUBLED = 100
"""Most batches with trouble that are looked at for one view."""


def lane_counts(connection: sa.Connection, clock: SqlClock, of_tasks: Sequence[int]) -> dict[int, LaneCounts]:
    """How many questions of each task are in the lane; tasks without any are left out."""
    is_sending = sa.and_(SENT, batches.c.state == BatchState.SENDING.value)
    state = sa.case((is_sending, "sending"), else_=batch_members.c.state).label("state")
    late = sa.case((sa.and_(SENT, batch_members.c.wanted_by <= clock.now), 1), else_=0)
    shared = sa.case((batches.c.cancel_at.is_(None), late), else_=0)
    columns = batch_members.c.task, state, sa.func.count(), sa.func.sum(late), sa.func.sum(shared)
    joined = batch_members.outerjoin(batches, batches.c.id == batch_members.c.batch)
    counted = sa.select(*columns).select_from(joined).where(batch_members.c.task.in_(of_tasks))
    found: dict[int, Counter[str]] = {}
    for task, word, count, later_live, in_shared in connection.execute(counted.group_by(columns[0], state)):
        found.setdefault(task, Counter()).update({word: count, "later_live": later_live, "shared": in_shared})
    troubles = _troubles(connection, found) if found else {}
    return {task: LaneCounts(**counts, trouble=troubles.get(task)) for task, counts in found.items()}


def _troubles(connection: sa.Connection, of_tasks: Collection[int]) -> dict[int, str]:
    """What the newest troubled batch of each task has trouble with. Mostly no batch has any, which one query shows."""
    columns = batches.c.id, batches.c.reason, batches.c.reason_sentence
    troubled = sa.select(*columns).where(OPEN_BATCH, batches.c.reason.is_not(None)).order_by(batches.c.id.desc())
    reasons = {
        row.id: restored(row.reason, row.reason_sentence) for row in connection.execute(troubled.limit(MOST_TROUBLED))
    }
    if not reasons:
        return {}
    newest = sa.select(batch_members.c.task, sa.func.max(batch_members.c.batch)).where(
        batch_members.c.task.in_(of_tasks), batch_members.c.batch.in_(list(reasons)), SENT
    )
    found = connection.execute(newest.group_by(batch_members.c.task))
    return {task: reason for task, batch in found if (reason := reasons[batch]) is not None}
