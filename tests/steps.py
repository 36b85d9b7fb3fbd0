"""Counts the steps of SQLite's virtual machine while a transaction holds the write lock.

A count of rows written says nothing about rows read: a count over all items of a task holds the lock too. Steps are the same on
any machine, so a test can compare a small task with a large one.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from fanfold.store.store import Store

EVERY = 25
"""The machine reports once per this many steps, counted for each statement by itself."""


@dataclass
class Held:
    """One transaction that held the write lock."""

    since: float
    steps: int = 0
    seconds: float = 0.0
    statements: list[tuple[int, str]] = field(default_factory=list)
    """Steps and text of each statement."""

    @property
    def worst(self) -> tuple[int, str]:
        """The statement with the most steps."""
        return max(self.statements, default=(0, ""))


class StepMeter:
    """Notes, for each transaction that takes SQLite's write lock, how many steps it takes until it ends."""

    def __init__(self) -> None:
        self.held: list[Held] = []

    @property
    def worst(self) -> Held:
        """The transaction with the most steps so far."""
        return max(self.held, key=lambda one: one.steps, default=Held(0.0))

    def _begin(self, connection: sa.Connection) -> None:
        if connection.get_execution_options().get("fanfold_read"):
            return
        held = connection.info["held"] = Held(time.perf_counter())

        def report() -> int:
            held.steps += EVERY
            if held.statements:
                steps, text = held.statements[-1]
                held.statements[-1] = (steps + EVERY, text)
            return 0

        driver: Any = connection.connection.driver_connection
        driver.set_progress_handler(report, EVERY)

    def _execute(self, connection: sa.Connection, _cursor: Any, statement: str, *_rest: Any) -> None:
        if (held := connection.info.get("held")) is not None:
            held.statements.append((0, statement))

    def _end(self, connection: sa.Connection) -> None:
        held = connection.info.pop("held", None)
        if held is not None:
            driver: Any = connection.connection.driver_connection
            driver.set_progress_handler(None, EVERY)
            held.seconds = time.perf_counter() - held.since
            self.held.append(held)


@contextmanager
def steps_counted(store: Store) -> Iterator[StepMeter]:
    """Count the steps of every writing transaction of a store meanwhile."""
    meter = StepMeter()
    heard: dict[str, Callable[..., Any]] = {
        "begin": meter._begin,
        "before_cursor_execute": meter._execute,
        "commit": meter._end,
        "rollback": meter._end,
    }
    engines = [store.database.engine, store.database._reserve]
    for engine in engines:
        for name, hear in heard.items():
            sa.event.listen(engine, name, hear)
    try:
        yield meter
    finally:
        for engine in engines:
            for name, hear in heard.items():
                sa.event.remove(engine, name, hear)
