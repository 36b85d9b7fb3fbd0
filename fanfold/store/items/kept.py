"""Reads the items of a stage as a merge needs them: whole, or only what tells whether they have changed. Read-only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.lifecycle import ItemState
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.failed_attempts import FailedAttempts
from fanfold.store.items.large.drafts import counts_at, counts_of
from fanfold.store.items.large.reset_queue import REDO, STATE_NOW, is_reset, reset_kind
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import DEGRADED, item_data, items

MANY = 2_000


class Kept(NamedTuple):
    """A stored item as a merge reads it. A tuple, because there are very many."""

    id: int
    seq: int
    key: str
    state: str
    input: str | None
    output: str | None
    error_code: str | None
    error_message: str | None
    model: str | None
    usage: str | None
    seconds: float | None
    degraded: str | None


AS_KEPT = partial(tuple.__new__, Kept)
"""Makes a row of the driver an item without a Python call, which ``_make`` would be."""


class Stamp(NamedTuple):
    """A stored item without its values. Every new result has a new lease."""

    id: int
    seq: int
    key: str
    state: str
    lease: int


class KeptItems(FailedAttempts):
    """Queries about the items of a stage for a merge, inside one transaction."""

    def kept(self, task: int, stage: str, after: int, limit: int = MANY, *, failed: bool = False) -> list[Kept]:
        """Items of a stage with a position above ``after``, in order, as a merge reads them: all, or only failed ones."""
        values = {"wanted": task, "at_stage": stage, "after": after, "most": limit}
        return list(map(AS_KEPT, run(self.connection, kept_statement(self.clock, failed), values)))

    def kept_at(self, task: int, stage: str, positions: Sequence[int]) -> list[Kept]:
        """The same for the items at these positions."""
        values = {"wanted": task, "at_stage": stage, "rows": [{"position": position} for position in positions]}
        return list(map(AS_KEPT, run(self.connection, kept_at_statement(self.clock), values)))

    def stamps(self, task: int, stage: str, after: int, limit: int = MANY) -> list[Stamp]:
        """What tells whether the items after a position have changed since they were read. Far less than their values."""
        values = {"wanted": task, "at_stage": stage, "after": after, "most": limit}
        return list(map(Stamp._make, run(self.connection, stamps_statement(self.clock), values)))

    def degraded_before(self, task: int, stages: Sequence[str], rows: Sequence[Kept]) -> dict[int, list[str]]:
        """Reasons why items at the positions of these rows were degraded in earlier stages, in stage order."""
        if not stages or not rows:
            return {}
        mine = sa.and_(items.c.task == task, items.c.stage.in_(stages), counts_of(task))
        here = items.c.seq.between(rows[0].seq, rows[-1].seq)
        marked = sa.select(items.c.seq, items.c.stage, items.c.degraded).where(DEGRADED, mine, here, ~is_reset())
        found: dict[int, list[str]] = defaultdict(list)
        for seq, _, reason in sorted(self.connection.execute(marked), key=lambda row: (row[0], stages.index(row[1]))):
            found[seq].append(reason)
        return found


@lru_cache(maxsize=16)
def kept_statement(clock: SqlClock, failed: bool = False) -> sa.Select[Any]:
    """One page of items for a merge: all items, or only failed ones. Built once."""
    behind = _kept(clock).where(items.c.seq > sa.bindparam("after"))
    if failed:
        behind = behind.where(STATE_NOW == ItemState.FAILED)
    return behind.limit(sa.bindparam("most", type_=sa.Integer))


@lru_cache(maxsize=16)
def kept_at_statement(clock: SqlClock) -> sa.Select[Any]:
    """The items of a stage at some positions."""
    batch = clock.dialect.unfolded({"position": sa.Integer()})
    return _kept(clock).where(items.c.seq.in_(sa.select(batch.c.position)))


@lru_cache(maxsize=16)
def stamps_statement(clock: SqlClock) -> sa.Select[Any]:
    """One page of the stamps of a stage."""
    found = sa.select(items.c.id, items.c.seq, _KEY, STATE_NOW, items.c.lease)
    behind = _of_stage(found).where(items.c.seq > sa.bindparam("after"))
    return behind.limit(sa.bindparam("most", type_=sa.Integer))


def _kept(clock: SqlClock) -> sa.Select[Any]:
    """The columns of ``Kept`` for the items of a stage, in order."""
    known: dict[str, sa.ColumnElement[Any]] = {
        **{column.name: column for column in (*items.c, *item_data.c)},
        "key": _KEY,
        "seconds": clock.seconds_between(items.c.started_at, items.c.finished_at),
        "state": STATE_NOW.label("state"),
        "output": sa.case((reset_kind() != REDO, sa.null()), else_=item_data.c.output).label("output"),
    }
    found = sa.select(*(known[name] for name in Kept._fields)).outerjoin(item_data, item_data.c.item == items.c.id)
    return _of_stage(found)


def _of_stage(found: sa.Select[Any]) -> sa.Select[Any]:
    task, stage = sa.bindparam("wanted", type_=sa.BigInteger), sa.bindparam("at_stage", type_=sa.Text)
    return found.where(items.c.task == task, items.c.stage == stage, counts_at(task, stage)).order_by(items.c.seq)


_KEY = sa.func.coalesce(items.c.key, sa.cast(items.c.seq, sa.Text))
