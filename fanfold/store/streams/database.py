"""What came out so far? Pieces that running items emit, kept in order and counted only for the lease that counts."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from fanfold.store.dialects.bulk import put_rows
from fanfold.store.dialects.clock import Clock
from fanfold.store.tables import emissions

AT_ONCE = 1_000
"""Most pieces that one transaction writes, or removes."""


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

    def drop_stale(self, item: int, lease: int) -> bool:
        """Forget what earlier attempts of the item emitted, a bounded number of pieces; True when none is left."""
        stale = sa.select(emissions.c.lease, emissions.c.position).where(emissions.c.item == item)
        some = stale.where(emissions.c.lease < lease).limit(AT_ONCE)
        place = sa.tuple_(emissions.c.lease, emissions.c.position).in_(some)
        return self.connection.execute(sa.delete(emissions).where(emissions.c.item == item, place)).rowcount < AT_ONCE
