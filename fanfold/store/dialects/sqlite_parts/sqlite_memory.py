"""A SQLite database in memory: one connection, which all threads use in turn, and a copy to go back to.

It lives as long as its connection, so tests of pipelines use it. Another connection would see another, empty database.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from fanfold.errors import DatabaseProblem
from fanfold.store.database_errors import drop_spoiled
from fanfold.store.dialects.access import DatabaseAccess, Listener, Reading
from fanfold.store.dialects.sqlite_parts.sqlite_module import sqlite_module
from fanfold.store.urls import shown

IN_MEMORY = (None, "", ":memory:")
"""What a URL names instead of a file."""


class SqliteMemory(DatabaseAccess):
    """The way to one database in memory."""

    has_one_connection = True

    def __init__(self, url: sa.URL) -> None:
        self.url = url
        self._turn = threading.RLock()
        self._connection: Any = None
        self._kept: Any = None

    def new_engine(self, **pool: int) -> sa.Engine:
        """A pool of the one connection."""
        engine = sa.create_engine(
            self.url,
            module=sqlite_module(),
            connect_args={"check_same_thread": False},
            poolclass=sa.pool.StaticPool,
        )
        event.listen(engine, "connect", self._prepare)
        event.listen(engine, "begin", _begin)
        event.listen(engine, "handle_error", drop_spoiled)
        return engine

    def _prepare(self, connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        self._connection = connection

    def in_turn(self) -> AbstractContextManager[Any]:
        """One transaction at a time: a second one on the same connection would become part of the first."""
        return self._turn

    def keep_copy(self) -> None:
        """Remember the database as it is now."""
        with self._turn:
            self._kept = sqlite_module().connect(":memory:", check_same_thread=False)
            self._connection.backup(self._kept)

    def restore(self) -> None:
        """Make the database again what it was at ``keep_copy``."""
        with self._turn:
            self._kept.backup(self._connection)

    def listener(self, read: Reading) -> Listener:
        """Nobody can be told."""
        return NoListener()

    def backup_command(self, target: str) -> str:
        """There is none: other processes cannot reach it."""
        return "Client.store.database.access.copy(path)"

    def source_of_copy(self, target: Path) -> Path:
        """There is no file."""
        raise DatabaseProblem(f"There is no database file to copy: {shown(self.url)}", code="no_database")

    def copy(self, target: Path) -> None:
        """To a new file."""
        with self._turn, closing(sqlite_module().connect(target)) as made:
            self._connection.backup(made)

    def refuse_read_only(self) -> None:
        """Memory can be written to."""
        return


class NoListener(Listener):
    """Tells of nothing: workers poll."""

    tells_all = False

    @property
    def possible(self) -> bool:
        """There is no way to be told."""
        return False

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Nothing is ever heard."""
        stop.wait(seconds)
        return False

    def close(self) -> None:
        """There is no connection."""


def _begin(connection: sa.Connection) -> None:
    """Said to the driver itself: a test has hundreds of short transactions, and this is a tenth of what each costs."""
    driver: Any = connection.connection.driver_connection
    driver.execute("BEGIN")
