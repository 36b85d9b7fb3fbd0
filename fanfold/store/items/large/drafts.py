"""Hides the items of a stage while they are written or removed in several short transactions.

Many items cannot be written in one transaction: on SQLite it would hold the write lock for seconds, and every other worker would
lose its leases. So a row of `drafts` hides the items of a task's stage while they are written (`new`) or removed (`old`), and the
last transaction removes the row together with the move of the task.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.store.dialects.bulk import remove_all, remove_rows
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.locks import lock_items
from fanfold.store.schema.statements import fetch, run
from fanfold.store.schema.tables import attempts, drafts, emissions, externals, item_data, items, permits, subtasks

NEW, OLD, COPY = "new", "old", "copy"
"""Being written; being removed; being copied from the previous stage while earlier results are kept."""
CHUNK = 2_000
"""Most rows written or removed in one transaction: about 20 ms on SQLite."""
STALE_SECONDS = 30.0
"""Age at which a draft that is not refreshed counts as abandoned. Each chunk refreshes it."""
LONG_AGO_SECONDS = 30 * 86_400.0


class Draft(NamedTuple):
    """A stage of a task whose items are hidden."""

    task: int
    stage: str
    kind: str
    token: str
    seconds: float
    """Seconds since the last refresh."""


class Drafts:
    """Verbs on drafts, inside one transaction. ``token`` identifies the draft's owner."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def begin(self, task: int, stage: str, kind: str, token: str, *, stale_seconds: float | None = None) -> bool:
        """Hide the items of a stage from now on; True if the draft is ours, and then its row stays locked.

        Another owner's draft is taken over if it is stale. Without ``stale_seconds`` it is always taken over: the caller
        holds a lease or the task's lock, which decides who may write.
        """
        made = self.clock.dialect.insert(drafts).values(
            task=task, stage=stage, kind=kind, token=token, at=self.clock.now
        )
        mine = sa.true() if stale_seconds is None else drafts.c.at <= self.clock.before(stale_seconds)
        taken = made.on_conflict_do_update(
            index_elements=["task", "stage"],
            set_={name: made.excluded[name] for name in ("kind", "token", "at")},
            where=sa.or_(drafts.c.token == token, mine),
        )
        return self.connection.execute(taken.returning(drafts.c.task)).first() is not None

    def refresh(self, task: int, stage: str, token: str) -> bool:
        """Renew the draft; False if it is no longer ours. The row stays locked."""
        mine = sa.and_(drafts.c.task == task, drafts.c.stage == stage, drafts.c.token == token)
        return self.connection.execute(sa.update(drafts).where(mine).values(at=self.clock.now)).rowcount == 1

    def end(self, task: int, stages: Iterable[str]) -> None:
        """Show the items of these stages from now on, if there are any."""
        self.connection.execute(sa.delete(drafts).where(drafts.c.task == task, drafts.c.stage.in_(list(stages))))

    def let_go(self, task: int, stage: str, token: str) -> None:
        """Give up our draft, so that the next owner need not wait until it is stale."""
        mine = sa.and_(drafts.c.task == task, drafts.c.stage == stage, drafts.c.token == token)
        self.connection.execute(sa.update(drafts).where(mine).values(at=self.clock.before(LONG_AGO_SECONDS)))

    def hidden(self, task: int) -> dict[str, Draft]:
        """The drafts of a task, by stage."""
        found = (Draft(*row) for row in fetch(self.connection, hidden_statement(self.clock), {"of": task}))
        return {draft.stage: draft for draft in found}

    def abandoned(self, seconds: float, limit: int) -> list[Draft]:
        """Drafts not refreshed for ``seconds``, the oldest first."""
        values = {"seconds": seconds, "most": limit}
        return [Draft(*row) for row in fetch(self.connection, abandoned_statement(self.clock), values)]

    def holds_items(self, task: int, stage: str) -> bool:
        """Whether the stage has any items, hidden or not."""
        return bool(run(self.connection, ANY_ITEM, {"of": task, "at_stage": stage}))

    def leftovers(self, task: int, stages: list[str]) -> bool:
        """Whether any of the stages has items, hidden or not, or is a draft. One query."""
        values = {f"stage_{place}": stage for place, stage in enumerate(stages)}
        return bool(run(self.connection, leftovers_statement(len(stages)), {"of": task, **values}))

    def remove_items(self, task: int, stage: str, limit: int = CHUNK) -> bool:
        """Remove items of a stage and everything that belongs to them, at most ``limit`` rows; True when nothing is left.

        An item may have any number of attempts, emitted pieces and external jobs, so these go first. They may use half of
        ``limit``, and the items, with three rows each, the other half.
        """
        values = {"of": task, "at_stage": stage, "most": max(1, limit // 6)}
        ids = [item for (item,) in run(self.connection, SOME_OF_STAGE, values)]
        lock_items(self.connection, ids)
        left = max(1, limit // 2)
        for table in (emissions, attempts, externals, subtasks):
            left -= remove_rows(self.connection, table, ids, left)
            if left <= 0:
                return False
        for column in (item_data.c.item, permits.c.item, items.c.id):
            remove_all(self.connection, column, ids)
        return not self.holds_items(task, stage)


ANY_ITEM = (
    sa.select(items.c.id).where(items.c.task == sa.bindparam("of"), items.c.stage == sa.bindparam("at_stage")).limit(1)
)


def _drafts(clock: SqlClock) -> sa.Select[Any]:
    return sa.select(*(drafts.c[name] for name in Draft._fields[:-1]), clock.seconds_since(drafts.c.at))


@lru_cache(maxsize=64)
def hidden_statement(clock: SqlClock) -> sa.Select[Any]:
    """The drafts of a task."""
    return _drafts(clock).where(drafts.c.task == sa.bindparam("of"))


@lru_cache(maxsize=64)
def abandoned_statement(clock: SqlClock) -> sa.Select[Any]:
    """Drafts that were not refreshed for a time, the oldest first."""
    since = clock.before(sa.bindparam("seconds", type_=sa.Float))
    old = _drafts(clock).where(drafts.c.at <= since).order_by(drafts.c.at)
    return old.limit(sa.bindparam("most", type_=sa.Integer))


SOME_OF_STAGE = (
    sa.select(items.c.id)
    .where(items.c.task == sa.bindparam("of"), items.c.stage == sa.bindparam("at_stage"))
    .order_by(items.c.seq)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
"""In the order of an index: ordered by id, either database may read all of the stage, or all tasks before it."""


def counts_at(task: Any, stage: Any) -> sa.ColumnElement[bool]:
    """The stage is not a draft. Evaluated once per statement, whatever the number of items."""
    return ~sa.exists(sa.select(drafts.c.task).where(drafts.c.task == task, drafts.c.stage == stage))


def counts_of(task: Any) -> sa.ColumnElement[bool]:
    """The item's stage is not a draft. Evaluated for every item, against a list that is nearly always empty."""
    return items.c.stage.not_in(sa.select(drafts.c.stage).where(drafts.c.task == task))


def counts_in_group() -> sa.ColumnElement[bool]:
    """The same as HAVING of a query grouped by task and stage: evaluated for every group."""
    own = sa.select(drafts.c.task).where(drafts.c.task == items.c.task, drafts.c.stage == items.c.stage)
    return ~sa.exists(own.correlate(items))


@cache
def leftovers_statement(stages: int) -> sa.Executable:
    """Find an item or a draft in any of ``stages`` stages of a task."""
    task = sa.bindparam("of", type_=sa.BigInteger)
    named = [sa.bindparam(f"stage_{place}", type_=sa.Text) for place in range(stages)]
    parts = (
        sa.select(table.c.task).where(table.c.task == task, table.c.stage.in_(named)).limit(1).subquery()
        for table in (items, drafts)
    )
    return sa.union_all(*(sa.select(part) for part in parts))
