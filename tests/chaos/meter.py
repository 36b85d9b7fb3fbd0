"""Measures done items over time, for a load that is paced by its handlers and not by the machine."""

from __future__ import annotations

import time

import sqlalchemy as sa

from fanfold.store.schema.tables import items
from tests.acceptance.fleet import Fleet, patiently


class Meter:
    """The progress of one task, measured from outside through a connection of its own."""

    def __init__(self, fleet: Fleet, task: str) -> None:
        self.fleet = fleet
        self.number = fleet.number(task)

    def done(self) -> int:
        """How many items are done now."""
        counted = sa.select(sa.func.count()).where(items.c.task == self.number, items.c.state == "done")
        with self.fleet.store.read() as tx:
            return int(tx.connection.execute(counted).scalar_one())

    def rate(self, seconds: float) -> float:
        """Done items per second over this many seconds from now."""
        before, started = self.done(), time.monotonic()
        time.sleep(seconds)
        return (self.done() - before) / (time.monotonic() - started)

    def next_done(self, than: int, seconds: float) -> float:
        """How long it took until more than this many items were done."""
        started = time.monotonic()
        patiently(lambda: self.done() > than, seconds, self.fleet.said)
        return time.monotonic() - started
