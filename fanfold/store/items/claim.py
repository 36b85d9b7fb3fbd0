"""Claims due items of one task: they become running, each with a new lease.

A result is accepted only under the lease given here; `settle` checks it.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import sqlalchemy as sa

from fanfold.model.item import Claimed
from fanfold.model.lifecycle import ItemState
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.find_work import Ready
from fanfold.store.items.pending import HANDED_BACK
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import ACTIVE, PENDING, TIMED, item_data, items, tasks

SUSPECT_CRASHES = 2
"""Crashes after which an item is suspect. One is too few: most items in flight during a crash are innocent, and a child
process for each would slow down every restart."""
AS_CLAIMED = partial(tuple.__new__, Claimed)
"""Makes a row of the driver an item without a Python call, which ``_make`` would be."""
MOST_ATTEMPTS = 32_767
"""Largest value of the narrow column. A job polled every second reaches it in about nine hours."""


class Claiming:
    """The claim, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def claim(
        self,
        ready: Ready,
        worker: str,
        count: int,
        *,
        timed: bool = False,
        cursor: int = 0,
        timeout: float | None = None,
        suspects: bool | None = None,
        sampled: bool = False,
        ahead: bool = False,
    ) -> list[Claimed]:
        """pending, retrying or waiting → running, for at most ``count`` due items of one task, in order; each gets a new lease.

        ``cursor`` is the last item of the task that this worker claimed. Starting after it saves PostgreSQL from scanning
        the dead index entries of earlier claims, which makes a claim five times slower in a long queue.
        ``suspects``: True for only items that were lost repeatedly, False for only the others, None for all. ``sampled``:
        items of the sample of a task; of a task with a sample, no others are claimed. ``ahead``: for items that wait for a
        slot; only items that were never tried, see ``claim_statement``.
        """
        values = {"wanted": ready.task, "at_stage": ready.stage, "by": worker, "count": count, "seconds": timeout}
        statement = claim_statement(self.clock, timed, suspects, sampled, ahead)
        found = run(self.connection, statement, values | {"cursor": cursor})
        if found and not self.clock.dialect.joins_updates:
            found = run(self.connection, load_statement(self.clock, ahead), values | {"ids": [id_ for (id_,) in found]})
        return sorted(map(AS_CLAIMED, found))

    def hand_back(self, ids: list[int]) -> None:
        """running → pending, for items claimed in this same transaction, so nobody ever sees the claim."""
        mine = items.c.id.in_(self.clock.dialect.listed("ids"))
        untried = HANDED_BACK | {"attempts": items.c.attempts - 1, "lease": items.c.lease - 1}
        run(self.connection, sa.update(items).where(mine).values(untried), {"ids": ids})


def task_is_active(number: Any, stage: Any, *conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """The task is active and in the item's stage. Otherwise no result is accepted and nothing is claimed."""
    standing = sa.select(tasks.c.number).where(tasks.c.number == number, ACTIVE, tasks.c.stage == stage, *conditions)
    return sa.exists(standing.correlate(items))


def sample_of(number: Any) -> sa.ScalarSelect[int]:
    """The size of a task's sample; NULL if it has none."""
    return sa.select(tasks.c.sample).where(tasks.c.number == number).scalar_subquery()


@lru_cache(maxsize=64)
def claim_statement(
    clock: SqlClock, timed: bool, suspects: bool | None = None, sampled: bool = False, ahead: bool = False
) -> sa.Executable:
    """The claim. Returns the items with their data, or only their ids where one statement cannot join the data.

    A sample has its own statement, which reads the first items of the stage. With both conditions in one statement, each
    claim of a sampled task would read all items behind the sample.

    An item claimed ahead has no start time until its worker settles it or notes that it began, so nobody knows whether a
    worker that died had begun it, and its crash is not counted. To count the next one, an item is claimed ahead only once.
    """
    candidate = items.alias("candidate")

    def translate(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
        return sa.sql.util.ClauseAdapter(candidate).traverse(condition)

    picked = sa.select(candidate.c.id).where(
        candidate.c.task == sa.bindparam("wanted"), candidate.c.stage == sa.bindparam("at_stage")
    )
    if suspects is not None:
        is_suspect = candidate.c.crashes >= sa.literal_column(str(SUSPECT_CRASHES))
        picked = picked.where(is_suspect if suspects else sa.not_(is_suspect))
    if ahead:
        picked = picked.where(candidate.c.attempts == 0)
    if sampled:
        due = sa.and_(translate(TIMED), candidate.c.available_at <= clock.now)
        in_sample = candidate.c.seq <= sample_of(sa.bindparam("wanted"))
        picked = picked.where(in_sample, sa.or_(translate(PENDING), due)).order_by(candidate.c.seq)
    elif timed:
        picked = picked.where(translate(TIMED), candidate.c.available_at <= clock.now).order_by(
            candidate.c.available_at, candidate.c.id
        )
    else:
        picked = picked.where(translate(PENDING), candidate.c.id > sa.bindparam("cursor")).order_by(candidate.c.id)
    picked = picked.limit(sa.bindparam("count", type_=sa.Integer)).with_for_update(skip_locked=True)
    chosen = clock.dialect.one_of(items.c.id, picked)
    values = {
        "state": ItemState.RUNNING.value,
        "worker": sa.bindparam("by"),
        "lease": items.c.lease + 1,
        "attempts": sa.case((items.c.attempts < MOST_ATTEMPTS, items.c.attempts + 1), else_=items.c.attempts),
        "started_at": None if ahead else clock.now,
        "available_at": None,
        "deadline_at": clock.after(sa.bindparam("seconds", type_=sa.Float)),
    }
    # Use the task number, not each item's, so the condition is evaluated once. Otherwise PostgreSQL, lacking statistics, reads
    # every item of the task.
    has_sample = tasks.c.sample.is_not(None) if sampled else tasks.c.sample.is_(None)
    may_be_claimed = tasks.c.resetting.is_(None), tasks.c.closed_at.is_(None), has_sample
    active = task_is_active(sa.bindparam("wanted"), sa.bindparam("at_stage"), *may_be_claimed)
    claim = sa.update(items).where(chosen, active).values(values)
    if not clock.dialect.joins_updates:
        return claim.returning(items.c.id)
    claimed = claim.returning(*(items.c[name] for name in Claimed._fields if name in items.c)).cte("claimed")
    return with_data(clock, claimed, ahead)


@lru_cache(maxsize=16)
def load_statement(clock: SqlClock, ahead: bool = False) -> sa.Select[Any]:
    """Claimed items with their data, by id."""
    return with_data(clock, items, ahead).where(items.c.id.in_(clock.dialect.listed("ids")))


def with_data(clock: SqlClock, claimed: sa.FromClause, ahead: bool) -> sa.Select[Any]:
    """Claimed items with the data that handlers see."""
    known: dict[str, sa.ColumnElement[Any]] = {
        **{column.name: column for column in (*claimed.c, *item_data.c)},
        "key": sa.func.coalesce(claimed.c.key, sa.cast(claimed.c.seq, sa.Text)),
        "waiting_seconds": sa.func.coalesce(clock.seconds_since(item_data.c.waiting_since), 0.0),
        "has_permit": sa.false(),
        "ahead": sa.true() if ahead else sa.false(),
        "begun_at": sa.null(),
        "generation": sa.func.coalesce(item_data.c.generation, 0),
        "task_generation": sa.select(tasks.c.generation)
        .where(tasks.c.number == sa.bindparam("wanted"))
        .scalar_subquery(),
        "lineage": sa.select(tasks.c.lineage).where(tasks.c.number == sa.bindparam("wanted")).scalar_subquery(),
    }
    joined = claimed.outerjoin(item_data, item_data.c.item == claimed.c.id)
    return sa.select(*(known[name] for name in Claimed._fields)).select_from(joined)
