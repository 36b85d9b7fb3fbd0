"""Stores the pieces that running items emit, in order. Only pieces of the current lease count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from fanfold.store.dialects.bulk import put_rows
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.large.drafts import counts_of
from fanfold.store.schema.tables import emissions, items

PAGE = 500
AT_ONCE = 1_000
"""Most pieces written or removed in one transaction."""


class EmittedPiece(NamedTuple):
    """A piece of streamed output and its position."""

    item: int
    lease: int
    position: int
    key: str
    body: str


class NewestAttempt(NamedTuple):
    """An attempt that may emit pieces now."""

    item: int
    lease: int
    began: str
    key: str


class Streams:
    """Verbs on streamed output, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, task: int, item: int, lease: int, start: int, bodies: Sequence[str]) -> None:
        """Store pieces at the positions from ``start``."""
        rows = [
            {"item": item, "lease": lease, "position": start + offset, "task": task, "body": body}
            for offset, body in enumerate(bodies)
        ]
        put_rows(self.connection, emissions, rows)

    def read(self, task: int, after: tuple[int, int, int], limit: int = PAGE) -> list[EmittedPiece]:
        """Streamed pieces of the current leases, in order, after ``after``: an item, its lease and a position in it.

        If that item has a new lease, its pieces are read from the beginning.
        """
        item, lease, position = after
        here = sa.and_(emissions.c.item == item, sa.or_(emissions.c.lease != lease, emissions.c.position > position))
        rows = self.connection.execute(
            sa.select(items.c.id, emissions.c.lease, emissions.c.position, items.c.key, items.c.seq, emissions.c.body)
            .join(items, sa.and_(items.c.id == emissions.c.item, items.c.lease == emissions.c.lease))
            .where(
                emissions.c.task == task,
                counts_of(task),
                sa.or_(emissions.c.item > item, here),
            )
            .order_by(emissions.c.item, emissions.c.position)
            .limit(limit)
        )
        return [EmittedPiece(row.id, row.lease, row.position, row.key or str(row.seq), row.body) for row in rows]

    def newest_attempt(self, item: int) -> NewestAttempt | None:
        """The newest attempt at an item; None if the item is gone or was never tried."""
        columns = (items.c.lease, items.c.started_at, items.c.key, items.c.seq)
        row = self.connection.execute(sa.select(*columns).where(items.c.id == item)).first()
        if row is None or row.started_at is None:
            return None
        return NewestAttempt(item, row.lease, row.started_at.isoformat(), row.key or str(row.seq))

    def key_of(self, task: int, item: int) -> str | None:
        """The key of an item of this task; None if it has none of this number."""
        here = sa.select(items.c.key, items.c.seq).where(items.c.id == item, items.c.task == task)
        row = self.connection.execute(here).first()
        return None if row is None else row.key or str(row.seq)

    def drop_stale(self, item: int, lease: int) -> bool:
        """Delete a bounded number of pieces that earlier attempts of the item emitted; True when none is left."""
        stale = sa.select(emissions.c.lease, emissions.c.position).where(emissions.c.item == item)
        some = stale.where(emissions.c.lease < lease).limit(AT_ONCE)
        place = sa.tuple_(emissions.c.lease, emissions.c.position).in_(some)
        return self.connection.execute(sa.delete(emissions).where(emissions.c.item == item, place)).rowcount < AT_ONCE
