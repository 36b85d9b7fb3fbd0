"""What is particular to SQLite: its module, how a connection is prepared, how a transaction begins."""

from __future__ import annotations

import importlib
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from fanfold.errors import DatabaseProblem
from fanfold.store.database_errors import UNREACHABLE, drop_spoiled
from fanfold.store.files.private import private_file, private_folder
from fanfold.store.urls import is_in_memory

SAFE_SQLITE = (3, 51, 3)
"""Older versions have a bug in which resetting the WAL can corrupt the file."""
BUSY_SECONDS = 60
"""How long a writer waits for others; each holds the lock for a moment only, but there may be many, and slow disks."""


def sqlite_module() -> Any:
    """The bundled, safe SQLite where there is a wheel of it, Python's own otherwise."""
    try:
        return importlib.import_module("pysqlite3")
    except ImportError:
        return importlib.import_module("sqlite3")


def sqlite_version() -> tuple[int, ...]:
    """The version of SQLite in use."""
    return tuple(int(part) for part in sqlite_module().sqlite_version.split("."))


class OpenedFile:
    """The file that the first connection has opened, told by its number on the disk.

    SQLite goes on writing to a file that was moved away or removed, and nobody who opens the name again sees any of that. So
    every transaction looks whether the name still stands for the same file.
    """

    def __init__(self, url: sa.URL) -> None:
        self.path = None if is_in_memory(url) else Path(str(url.database))
        self._opened: tuple[int, int] | None = None

    def note(self) -> None:
        """A connection was made."""
        if self.path is not None and self._opened is None:
            self._opened = self._now()

    def check(self) -> None:
        """DatabaseProblem when the name stands for another file, or for none."""
        if self._opened is not None and self._now() != self._opened:
            way = "Put it back and the work goes on by itself; to use another file, start again."
            raise DatabaseProblem(
                f"The file of the database, {self.path}, was moved away or replaced while it was in use. {way}",
                code=UNREACHABLE,
                public=f"The file of the database was moved away or replaced while it was in use. {way}",
            )

    def _now(self) -> tuple[int, int] | None:
        assert self.path is not None
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError:  # SQLite tells better than this what is wrong with the place.
            return self._opened
        return found.st_dev, found.st_ino


def sqlite_engine(
    url: sa.URL, synchronous: str, sizes: dict[str, int], file: OpenedFile, busy_seconds: float = BUSY_SECONDS
) -> sa.Engine:
    """A pool of connections to a file; in memory there is one connection for everybody."""
    memory = is_in_memory(url)
    if not memory:
        folder = Path(str(url.database)).parent
        try:
            private_folder(folder)
        except OSError as error:
            raise DatabaseProblem(f"Cannot make the folder of the database, {folder}: {error.strerror}.") from None
    pool: dict[str, Any] = {"poolclass": sa.pool.StaticPool} if memory else sizes
    engine = sa.create_engine(
        url, module=sqlite_module(), connect_args={"check_same_thread": False, "timeout": busy_seconds}, **pool
    )
    pragmas = (
        "journal_mode=WAL",
        f"synchronous={synchronous}",
        f"busy_timeout={int(busy_seconds * 1000)}",
        "temp_store=MEMORY",
        "cache_size=-32768",
    )

    if not memory:
        # SQLite gives its -wal and -shm the rights of the file itself.
        @event.listens_for(engine, "do_connect")
        def _make_private(*_: Any) -> None:
            file.check()  # Else an empty file would be made in the place of one that was moved away.
            with suppress(OSError):  # SQLite tells better than this what is wrong with the place.
                private_file(Path(str(url.database)))

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        file.note()
        connection.isolation_level = None
        for pragma in pragmas:
            _persistently(connection, f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        file.check()
        reading = connection.get_execution_options().get("fanfold_read", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    event.listen(engine, "handle_error", drop_spoiled)
    return engine


def _persistently(connection: Any, statement: str) -> None:
    """Run a pragma; switching a new file to WAL ignores the busy time-out when two processes do it at once."""
    for attempt in range(50):
        try:
            connection.execute(statement).fetchall()
            return
        except sqlite_module().OperationalError as error:
            if "locked" not in str(error) or attempt == 49:
                raise
            time.sleep(0.05)
