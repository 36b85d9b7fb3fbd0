"""A SQLite database in memory: one connection, shared by all threads in turn, and a copy to restore.

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
from fanfold.store.dialects.sqlite_parts.limit_clause import compile_limits_once
from fanfold.store.dialects.sqlite_parts.sqlite_module import STATEMENTS_KEPT, sqlite_module
from fanfold.store.urls import shown

IN_MEMORY = (None, "", ":memory:")
"""Names of a database in memory in a URL."""
NO_DELETE = "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '% BEFORE DELETE ON %'"
"""Tables whose rows a trigger refuses to delete."""
NUMBERS = "sqlite_sequence"
"""Where SQLite keeps the last number of each table with AUTOINCREMENT."""


class SqliteMemory(DatabaseAccess):
    """Access to one database in memory."""

    has_one_connection = True

    def __init__(self, url: sa.URL) -> None:
        self.url = url
        self._turn = threading.RLock()
        self._connection: Any = None
        self._kept: Any = None
        self._kept_schema = 0
        self._kept_rows: dict[str, list[tuple[Any, ...]]] = {}
        self._append_only: tuple[str, ...] = ()

    def new_engine(self, **pool: int) -> sa.Engine:
        """A pool with the single connection."""
        engine = sa.create_engine(
            self.url,
            module=sqlite_module(),
            connect_args={"check_same_thread": False, "cached_statements": STATEMENTS_KEPT},
            poolclass=sa.pool.StaticPool,
        )
        compile_limits_once(engine.dialect)
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
        """Remember the current content of the database."""
        with self._turn:
            self._kept = sqlite_module().connect(":memory:", check_same_thread=False)
            self._connection.backup(self._kept)
            self._kept_schema = self._schema_version()
            names = self._kept.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            self._kept_rows = {name: self._kept.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in names}
            self._append_only = tuple(name for (name,) in self._kept.execute(NO_DELETE))

    def restore(self) -> None:
        """Restore the content of ``keep_copy``.

        Deletes all rows and inserts the few kept ones. Copying the whole database would count as a change of the schema:
        SQLite would compile every statement again, which takes longer than a short test. So it is copied only if the schema
        has changed, or if rows were added to a table that refuses to delete them.
        """
        with self._turn:
            if self._schema_version() == self._kept_schema and not self._has_added_for_good():
                self._restore_rows()
            else:
                self._kept.backup(self._connection)
                self._kept_schema = self._schema_version()

    def _has_added_for_good(self) -> bool:
        return any(
            self._connection.execute(f'SELECT EXISTS (SELECT 1 FROM "{name}")').fetchone()[0]
            for name in self._append_only
        )

    def _schema_version(self) -> int:
        return int(self._connection.execute("PRAGMA schema_version").fetchone()[0])

    def _restore_rows(self) -> None:
        self._connection.execute("BEGIN")
        # Deleting from a table with AUTOINCREMENT changes `sqlite_sequence`, so that one comes last.
        for name, rows in sorted(self._kept_rows.items(), key=lambda kept: kept[0] == NUMBERS):
            self._connection.execute(f'DELETE FROM "{name}"')
            if rows:
                marks = ", ".join("?" for _ in rows[0])
                self._connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
        self._connection.execute("COMMIT")

    def listener(self, read: Reading) -> Listener:
        """There are no notifications."""
        return NoListener()

    def backup_command(self, target: str) -> str:
        """There is no command: other processes cannot reach the database."""
        return "Client.store.database.access.copy(path)"

    def source_of_copy(self, target: Path) -> Path:
        """There is no file."""
        raise DatabaseProblem(f"There is no database file to copy: {shown(self.url)}", code="no_database")

    def copy(self, target: Path) -> None:
        """To a new file."""
        with self._turn, closing(sqlite_module().connect(target)) as made:
            self._connection.backup(made)

    def refuse_read_only(self) -> None:
        """Memory is always writable."""
        return


class NoListener(Listener):
    """Reports nothing: workers poll."""

    tells_all = False

    @property
    def possible(self) -> bool:
        """Notifications are not available."""
        return False

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Wait; nothing is ever reported."""
        stop.wait(seconds)
        return False

    def close(self) -> None:
        """There is no connection."""


def _begin(connection: sa.Connection) -> None:
    """Executed on the driver itself, which saves a tenth of each of the hundreds of short transactions of a test."""
    driver: Any = connection.connection.driver_connection
    driver.execute("BEGIN")
