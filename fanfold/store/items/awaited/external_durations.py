"""Learns how long external jobs usually take, as a running estimate of the median.

Each job that ends moves the estimate up or down by a factor, so that it settles where half of the jobs take longer. That needs
one statement and no list of durations, and a few very slow jobs do not move it much. A poll finds a job later than it ended;
polled first at the median, half of the jobs are found then and half later, which is just where the estimate settles.
"""

from __future__ import annotations

import sqlalchemy as sa

from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.tables import external_durations

SMALLEST_STEP = 0.05
"""Least relative change of an estimate, so that it follows a service that becomes faster or slower."""


class ExternalDurations:
    """Verbs on the usual durations of external jobs, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def usual(self, name: str) -> float | None:
        """How many seconds half of these jobs take; None if none has ended yet."""
        found = sa.select(external_durations.c.seconds).where(external_durations.c.name == name)
        return self.connection.execute(found).scalar()

    def learn(self, name: str, seconds: float) -> None:
        """Move the estimate towards the duration of a job that has ended. The first one is the estimate itself."""
        known, took = external_durations.c, max(0.0, seconds)
        step = 1 + sa.case((known.count < 1 / SMALLEST_STEP, 1.0 / (known.count + 1)), else_=SMALLEST_STEP)
        moved = sa.case((known.seconds < took, known.seconds * step), else_=known.seconds / step)
        # An estimate of nearly nothing cannot grow by a factor.
        fresh = sa.case((known.seconds < 0.1, took), else_=moved)
        made = self.clock.dialect.insert(external_durations).values(
            name=name, seconds=took, count=1, updated_at=self.clock.now
        )
        changes = {"seconds": fresh, "count": known.count + 1, "updated_at": self.clock.now}
        self.connection.execute(made.on_conflict_do_update(index_elements=["name"], set_=changes))
