"""A database in memory for tests: it has its tables, and can be emptied for the next test."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from fanfold.store.database import Database
from fanfold.store.dialects.sqlite_parts.sqlite_memory import SqliteMemory
from fanfold.store.upgrade import migrate

MEMORY_URL = "sqlite://"


class MemoryDatabase(Database):
    """A migrated, empty database that exists as long as this object."""

    def __init__(self, read_clock: Callable[[], datetime]) -> None:
        super().__init__(MEMORY_URL, read_clock=read_clock)
        migrate.ensure(self)
        self._memory.keep_copy()

    def clear(self) -> None:
        """Remove everything that was written since it was created."""
        self._memory.restore()

    @property
    def _memory(self) -> SqliteMemory:
        assert isinstance(self.access, SqliteMemory)
        return self.access
