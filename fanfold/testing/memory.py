"""Databases in memory for tests, made once and used again: a migration takes longer than most tests."""

from __future__ import annotations

from typing import NamedTuple

from fanfold.store.database import Database
from fanfold.store.dialects.sqlite_parts.sqlite_memory import SqliteMemory
from fanfold.store.upgrade import migrate
from fanfold.testing.clock import Clock


class MemoryDatabase(NamedTuple):
    """A migrated database with its clock."""

    database: Database
    clock: Clock


_idle: list[MemoryDatabase] = []
"""Those that no test uses now. Each keeps the statements that SQLAlchemy has compiled for it."""


def take() -> MemoryDatabase:
    """An empty database that nobody else uses."""
    try:
        return _idle.pop()
    except IndexError:
        return _made()


def give_back(one: MemoryDatabase) -> None:
    """Empty it for the next test."""
    _access(one.database).restore()
    one.clock.reset()
    _idle.append(one)


def _made() -> MemoryDatabase:
    clock = Clock()
    database = Database("sqlite://", read_clock=clock)
    migrate.ensure(database)
    _access(database).keep_copy()
    return MemoryDatabase(database, clock)


def _access(database: Database) -> SqliteMemory:
    assert isinstance(database.access, SqliteMemory)
    return database.access
