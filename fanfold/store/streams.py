"""What came out so far? Pieces that running items emit, kept in order and counted only for the lease that counts."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from fanfold.store.batches import put_rows
from fanfold.store.clock import Clock
from fanfold.store.tables import emissions


class Streams:
    """Verbs on streamed output, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, task: int, item: int, lease: int, start: int, bodies: Sequence[str]) -> None:
        """Keep pieces at the positions from ``start`` on."""
        rows = [
            {"item": item, "lease": lease, "position": start + offset, "task": task, "body": body}
            for offset, body in enumerate(bodies)
        ]
        put_rows(self.connection, emissions, rows)

    def drop_stale(self, item: int, lease: int) -> None:
        """Forget what earlier attempts of the item emitted."""
        self.connection.execute(sa.delete(emissions).where(emissions.c.item == item, emissions.c.lease < lease))
