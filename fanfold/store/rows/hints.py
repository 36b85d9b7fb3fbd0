"""Stores the hints that a carrier delivers: on their way, or at work. What they lead to never depends on these rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from fanfold.model.lifecycle import ItemState
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.carrier_tables import hints
from fanfold.store.schema.tables import TIMED, items, workers

CLAIMING_SECONDS = 2.0
"""How long a worker that has begun may take to claim its first items; until then these need no other hint."""
COLUMNS = (hints.c.id, hints.c.pipeline, hints.c.stage, hints.c.worker)


class HintRow(NamedTuple):
    """A hint, and the worker that follows it."""

    id: str
    pipeline: str
    stage: str
    worker: str | None
    is_at_work: bool = False
    """Whether its worker has had the time to claim what it can."""


class LostHints(NamedTuple):
    """Hints that count no longer."""

    silent: list[HintRow]
    """Nobody has followed them."""
    gone: list[HintRow]
    """Their worker is gone."""


class CarriedHints:
    """Verbs on hints, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
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

    def add_missing(self, carrier: str, id_: str, pipeline: str, stage: str) -> None:
        """Record a hint again that has counted as lost; one that is still recorded stays as it is."""
        row = {"id": id_, "carrier": carrier, "pipeline": pipeline, "stage": stage, "sent_at": self.clock.now}
        self.connection.execute(self.clock.dialect.insert(hints).values(row).on_conflict_do_nothing())

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
        at_work = sa.func.coalesce(hints.c.begun_at < self.clock.before(CLAIMING_SECONDS), sa.false())
        found = sa.select(*COLUMNS, at_work).where(hints.c.carrier == carrier).order_by(hints.c.sent_at)
        rows = self.connection.execute(found)
        return [HintRow(id_, pipeline, stage, worker, bool(claimed)) for id_, pipeline, stage, worker, claimed in rows]

    def drop_lost(self, carrier: str, seconds: float, begin_seconds: float, lease_seconds: float) -> LostHints:
        """Remove hints that nobody followed within ``seconds``, and those whose worker is gone; returns both.

        A worker registers shortly after it has begun, so its absence counts only after ``begin_seconds``. Its id starts with
        the name in the hint's row.
        """
        named = sa.func.substr(workers.c.id, 1, sa.func.length(hints.c.worker)) == hints.c.worker
        alive = sa.exists().where(named, workers.c.seen_at > self.clock.before(lease_seconds))
        mine = hints.c.carrier == carrier
        silent = sa.and_(mine, hints.c.begun_at.is_(None), hints.c.sent_at < self.clock.before(seconds))
        gone = sa.and_(mine, hints.c.begun_at < self.clock.before(begin_seconds), ~alive)
        lost = (sa.select(*COLUMNS).where(silent), sa.select(*COLUMNS).where(gone))
        found = LostHints(*([HintRow(*row) for row in self.connection.execute(one)] for one in lost))
        self.end(row.id for rows in found for row in rows)
        return found

    def waiting_items(self, numbers: Iterable[int], stage: str, most: int) -> int:
        """How many items of these tasks could be claimed in the stage now; counted up to ``most``."""
        due = sa.or_(items.c.state == ItemState.PENDING, sa.and_(TIMED, items.c.available_at <= self.clock.now))
        here = sa.select(items.c.id).where(items.c.task.in_(list(numbers)), items.c.stage == stage, due).limit(most)
        return int(self.connection.execute(sa.select(sa.func.count()).select_from(here.subquery())).scalar_one())
