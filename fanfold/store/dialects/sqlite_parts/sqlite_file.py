"""Access to a SQLite file: connections, the start of a transaction, copies of the file, and change detection."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from fanfold.errors import DatabaseProblem
from fanfold.model.text.sentences import say
from fanfold.store.database_errors import drop_spoiled
from fanfold.store.dialects.access import DatabaseAccess, Listener, Reading, Wishes
from fanfold.store.dialects.sqlite_parts import opened_file
from fanfold.store.dialects.sqlite_parts.garbage import collecting_later
from fanfold.store.dialects.sqlite_parts.limit_clause import compile_limits_once
from fanfold.store.dialects.sqlite_parts.opened_file import OpenedFile
from fanfold.store.dialects.sqlite_parts.sqlite_module import STATEMENTS_KEPT, sqlite_module
from fanfold.store.dialects.sqlite_parts.versions import Versions
from fanfold.store.files.private import private_file, private_folder, tighten_all
from fanfold.store.urls import shown

BUSY_SECONDS = 60
"""How long a writer waits for the lock. Each holds it briefly, but there may be many writers and slow disks."""
_FILES: weakref.WeakSet[SqliteFile] = weakref.WeakSet()
"""All files that this process has opened; several entries may be the same file."""


class SqliteFile(DatabaseAccess):
    """Access to one file."""

    def __init__(self, url: sa.URL, wishes: Wishes) -> None:
        self.url = url
        self.busy_seconds = BUSY_SECONDS if wishes.busy_seconds is None else wishes.busy_seconds
        self.synchronous = wishes.synchronous
        self._opened = OpenedFile(self.file)
        self._engines: list[sa.Engine] = []
        self._writers = threading.Lock()
        _FILES.add(self)

    @property
    def file(self) -> Path:
        """Path of the file."""
        return Path(str(self.url.database or ""))

    def new_engine(self, **pool: int) -> sa.Engine:
        """A pool of connections to the file."""
        self._make_folder()
        engine = self._engine(**pool)
        event.listen(engine, "do_connect", self._connect)
        self._engines.append(engine)
        event.listen(engine, "connect", self._prepare)
        event.listen(engine, "begin", self._begin)
        event.listen(engine, "handle_error", drop_spoiled)
        return engine

    def _engine(self, **pool: Any) -> sa.Engine:
        arguments = {
            "check_same_thread": False,
            "timeout": self.busy_seconds,
            "cached_statements": STATEMENTS_KEPT,
        }
        engine = sa.create_engine(self.url, module=sqlite_module(), connect_args=arguments, **pool)
        compile_limits_once(engine.dialect)
        return engine

    def _make_folder(self) -> None:
        folder = self.file.parent
        try:
            private_folder(folder)
        except OSError as error:
            raise DatabaseProblem(f"Cannot create the folder of the database, {folder}: {error.strerror}.") from None

    def is_new(self) -> bool:
        """Whether there is no file yet; DatabaseProblem if there was one."""
        self._opened.check()
        return opened_file.is_new(self.file.absolute())

    def create(self) -> None:
        """Create an empty file, if there is none and never was. SQLite gives -wal and -shm the file's permissions."""
        if not self.is_new():
            return
        try:
            private_file(self.file)
        except OSError as error:
            raise DatabaseProblem(f"Cannot create the database {self.file}: {error.strerror}.") from None

    def _connect(self, _dialect: Any, _record: Any, _arguments: Any, named: dict[str, Any]) -> Any:
        self._opened.check()
        with suppress(OSError):  # SQLite gives a better error for this path.
            tighten_all(self.file)
        return opened_file.connect(self.file, **named)

    def _prepare(self, connection: Any, _record: Any) -> None:
        self._opened.note()
        connection.isolation_level = None
        for pragma in (
            "journal_mode=WAL",
            f"synchronous={self.synchronous}",
            f"busy_timeout={int(self.busy_seconds * 1000)}",
            "temp_store=MEMORY",
            "cache_size=-32768",
        ):
            _persistently(connection, f"PRAGMA {pragma}")
        opened_file.note_log(connection)

    def _begin(self, connection: sa.Connection) -> None:
        reading = connection.get_execution_options().get("fanfold_read", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
        # With the write lock held: nothing is committed to a log after somebody has noticed that it was removed.
        opened: Any = connection.connection.dbapi_connection
        try:
            self._opened.check()
        except DatabaseProblem:
            opened.rollback()
            raise
        if not opened_file.has_its_log(opened):
            opened.rollback()
            self._leave_log(connection, opened)

    def _leave_log(self, connection: sa.Connection, opened: Any) -> None:
        """Save the content of a removed log and close all connections to it, so that new ones open the right log."""
        if opened_file.leave_log(opened):
            connection.invalidate()
            for file in list(_FILES):
                if file.file.absolute() == self.file.absolute():
                    file.close_idle()
        raise opened_file.log_problem(opened)

    def close_idle(self) -> None:
        """Close the idle connections."""
        for engine in self._engines:
            engine.dispose()

    @contextmanager
    def writing_in_turn(self) -> Iterator[None]:
        """Threads of this process wait for each other here: SQLite's own wait sleeps for up to 0.1 s between two looks."""
        taken = self._writers.acquire(timeout=self.busy_seconds)
        try:
            yield  # Otherwise SQLite says that the lock is held.
        finally:
            if taken:
                self._writers.release()

    def begin_anew(self) -> None:
        """In a forked process: the threads that waited or wrote are not in it."""
        self._writers = threading.Lock()

    def holding_lock(self) -> AbstractContextManager[None]:
        """No garbage collection while all other writers wait."""
        return collecting_later()

    def listener(self, read: Reading) -> Listener:
        """A listener that watches the file."""
        return Versions(self.file)

    def backup_command(self, target: str) -> str:
        """Only SQLite itself can copy a file that is in use."""
        return f"fanfold db backup {target}"

    def source_of_copy(self, target: Path) -> Path:
        """The file itself."""
        if not self.file.is_file():
            raise DatabaseProblem(f"There is no database to copy: {shown(self.url)}", code="no_database")
        return self.file

    def copy(self, target: Path) -> None:
        """The copy is consistent, and making it blocks no other process."""
        module = sqlite_module()
        try:
            with closing(opened_file.connect(self.file)) as original, closing(module.connect(target)) as made:
                original.backup(made)
                made.execute("PRAGMA journal_mode=DELETE")
                found = made.execute("PRAGMA integrity_check(1)").fetchone()[0]
        except module.Error as error:
            raise DatabaseProblem(f"Cannot copy {self.file}: {error}.", code="copy") from None
        if found != "ok":
            raise DatabaseProblem(
                f"The database {self.file} is damaged: {found}. The copy was not kept.", code="damaged"
            )

    def refuse_read_only(self) -> None:
        """Check that SQLite can write to its file and to the log beside it."""
        if not self.file.is_file():
            return
        for place in (self.file, self.file.parent):
            if not os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
                raise DatabaseProblem(say("read_only_file", where=shown(self.url), place=place), code="read_only")


def _begin_anew() -> None:
    for file in list(_FILES):
        file.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def _persistently(connection: Any, statement: str) -> None:
    """Run a pragma with retries: switching a new file to WAL ignores the busy timeout if two processes do it at once."""
    for attempt in range(50):
        try:
            connection.execute(statement).fetchall()
            return
        except sqlite_module().OperationalError as error:
            if "locked" not in str(error) or attempt == 49:
                raise
            time.sleep(0.05)
