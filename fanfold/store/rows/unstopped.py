"""Stores which handlers run on although they were told to stop, so that people are not told that they have ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from fanfold.model.item import Claimed
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.carrier_tables import unstopped
from fanfold.store.schema.tables import workers

SHOWN = 1_000


class UnstoppedRow(NamedTuple):
    """A handler that does not stop, and its worker."""

    task: int
    worker: str
    stage: str
    key: str
    since_at: datetime


class Unstopped:
    """Verbs on handlers that do not stop, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def note(self, worker: str, claimed: Claimed) -> None:
        """Record that the handler of this attempt does not stop."""
        row = {
            "worker": worker, "item": claimed.id, "lease": claimed.lease, "task": claimed.task, "stage": claimed.stage,
            "key": claimed.key, "since_at": self.clock.now,
        }  # fmt: skip
        self.connection.execute(self.clock.dialect.insert(unstopped).values(row).on_conflict_do_nothing())

    def clear(self, worker: str, claimed: Claimed) -> None:
        """Record that it has ended after all."""
        here = (unstopped.c.worker == worker, unstopped.c.item == claimed.id, unstopped.c.lease == claimed.lease)
        self.connection.execute(sa.delete(unstopped).where(*here))

    def of_tasks(self, numbers: Sequence[int], lease_seconds: float) -> list[UnstoppedRow]:
        """Those of these tasks whose worker is alive, the first ones first. With the process, the handler ends too."""
        return self._alive(lease_seconds, unstopped.c.task.in_(numbers)) if numbers else []

    def all(self, lease_seconds: float) -> list[UnstoppedRow]:
        """All of them whose worker is alive."""
        return self._alive(lease_seconds, sa.true())

    def _alive(self, lease_seconds: float, wanted: sa.ColumnElement[bool]) -> list[UnstoppedRow]:
        alive = sa.and_(workers.c.id == unstopped.c.worker, workers.c.seen_at > self.clock.before(lease_seconds))
        columns = [unstopped.c[name] for name in UnstoppedRow._fields]
        found = sa.select(*columns).join(workers, alive).where(wanted).order_by(unstopped.c.since_at).limit(SHOWN)
        return [UnstoppedRow(*row) for row in self.connection.execute(found)]

    def forget_dead(self) -> None:
        """Remove the rows of workers that are gone."""
        self.connection.execute(sa.delete(unstopped).where(unstopped.c.worker.not_in(sa.select(workers.c.id))))
