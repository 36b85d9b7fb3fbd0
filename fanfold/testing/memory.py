"""Databases in memory for tests, created once and reused: a migration takes longer than most tests."""

from __future__ import annotations

from typing import NamedTuple

from fanfold.store.dialects.in_memory import MemoryDatabase
from fanfold.testing.clock import Clock


class DatabaseAndClock(NamedTuple):
    """A database with the clock that it reads."""

    database: MemoryDatabase
    clock: Clock


_idle: list[DatabaseAndClock] = []
"""Databases that no test uses now. Each keeps the statements that SQLAlchemy has compiled for it."""


def take() -> DatabaseAndClock:
    """An empty database that no other test uses."""
    try:
        return _idle.pop()
    except IndexError:
        clock = Clock()
        return DatabaseAndClock(MemoryDatabase(clock), clock)


def give_back(one: DatabaseAndClock) -> None:
    """Empty it for the next test."""
    one.database.clear()
    one.clock.reset()
    _idle.append(one)
