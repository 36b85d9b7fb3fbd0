"""Stores the hints that a carrier delivers: on their way, or at work. What they lead to never depends on these rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from fanfold.store.dialects.clock import Clock
from fanfold.store.schema.carrier_tables import hints
from fanfold.store.schema.tables import workers


class HintRow(NamedTuple):
    """A hint, and the worker that follows it."""

    id: str
    pipeline: str
    stage: str
    worker: str | None


class CarriedHints:
    """Verbs on hints, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, carrier: str, sent: Iterable[tuple[str, str, str]]) -> None:
        """Record hints (id, pipeline, stage) that are about to be sent."""
        rows = [
            {"id": id_, "carrier": carrier, "pipeline": pipeline, "stage": stage, "sent_at": self.clock.now}
            for id_, pipeline, stage in sent
        ]
        for row in rows:
            self.connection.execute(sa.insert(hints).values(row))

    def begin(self, id_: str, worker: str) -> bool:
        """Record that a worker follows the hint. False if another one did, or if it came too late and another was sent."""
        free = sa.and_(hints.c.id == id_, hints.c.begun_at.is_(None))
        begun = sa.update(hints).where(free).values(begun_at=self.clock.now, worker=worker)
        return self.connection.execute(begun).rowcount == 1

    def end(self, ids: Iterable[str]) -> None:
        """Remove hints that are done, or could not be sent."""
        self.connection.execute(sa.delete(hints).where(hints.c.id.in_(list(ids))))

    def under_way(self, carrier: str) -> list[HintRow]:
        """All hints of a carrier that count as on their way or at work."""
        found = sa.select(*(hints.c[name] for name in HintRow._fields)).where(hints.c.carrier == carrier)
        return [HintRow(*row) for row in self.connection.execute(found.order_by(hints.c.sent_at))]

    def drop_lost(self, carrier: str, seconds: float, lease_seconds: float) -> tuple[list[HintRow], list[HintRow]]:
        """Remove hints that nobody followed within ``seconds``, and those whose worker is gone; returns both."""
        alive = sa.exists().where(workers.c.id == hints.c.worker, workers.c.seen_at > self.clock.before(lease_seconds))
        mine, columns = hints.c.carrier == carrier, [hints.c[name] for name in HintRow._fields]
        # A worker registers shortly after it has begun, so the same time passes before its absence counts.
        silent = sa.and_(mine, hints.c.begun_at.is_(None), hints.c.sent_at < self.clock.before(seconds))
        gone = sa.and_(mine, hints.c.begun_at < self.clock.before(lease_seconds), ~alive)
        found = []
        for lost in (silent, gone):
            found.append([HintRow(*row) for row in self.connection.execute(sa.select(*columns).where(lost))])
            self.end(row.id for row in found[-1])
        return found[0], found[1]
