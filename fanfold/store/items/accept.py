"""Finds degraded results and marks them as accepted by a person. The items stay done and keep their mark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.large.drafts import counts_of
from fanfold.store.items.large.reset_queue import is_reset
from fanfold.store.schema.tables import UNACCEPTED, items

AT_ONCE = 1_000
"""Most items accepted in one transaction."""


class Shortfall(NamedTuple):
    """A degraded result that nobody has accepted."""

    id: int
    lease: int
    stage: str
    key: str


class Accepting:
    """Verbs on degraded results, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def shortfalls(self, task: int, stage: str | None = None) -> list[Shortfall]:
        """The degraded results of a task, or of one stage, that nobody has accepted, in order."""
        mine = _shortfalls().where(items.c.task == task, counts_of(task))
        return self._found(mine if stage is None else mine.where(items.c.stage == stage))

    def among(self, ids: Sequence[int]) -> list[Shortfall]:
        """The given items that are degraded and not accepted, in order; their rows are locked."""
        mine = _shortfalls().where(items.c.id.in_(ids))
        return self._found(mine.with_for_update(key_share=True, of=items))

    def accept(self, found: Sequence[Shortfall]) -> None:
        """Mark these locked results as accepted."""
        mine = items.c.id.in_([one.id for one in found])
        self.connection.execute(sa.update(items).where(mine).values(accepted=items.c.lease))

    def _found(self, wanted: sa.Select[Any]) -> list[Shortfall]:
        rows = self.connection.execute(wanted.order_by(items.c.id))
        return [Shortfall(row.id, row.lease, row.stage, row.key or str(row.seq)) for row in rows]


def _shortfalls() -> sa.Select[Any]:
    columns = (items.c.id, items.c.lease, items.c.stage, items.c.key, items.c.seq)
    return sa.select(*columns).where(UNACCEPTED, ~is_reset())
