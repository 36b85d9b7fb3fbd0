"""Where is everything? One store: the database, opened in transactions, and the blobs beside it."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from fanfold.errors import DatabaseProblem, FanfoldError
from fanfold.model import importing
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.files import File
from fanfold.settings import Settings
from fanfold.store.database import Database
from fanfold.store.database_errors import UNREACHABLE, is_conflict
from fanfold.store.files import sharing
from fanfold.store.files.folder import BlobStore, Directory, new_key
from fanfold.store.transaction import Transaction
from fanfold.store.upgrade import migrate
from fanfold.store.urls import shown

log = logging.getLogger("fanfold.store")
Result = TypeVar("Result")
__all__ = ["CONFLICT_TRIES", "Store", "Transaction"]
CONFLICT_TRIES = 10
CONFLICT_PAUSE_SECONDS = 0.05
"""The longest pause before the second try of a transaction that met another one; it grows with each try."""


class Store:
    """The database and the blobs of one installation."""

    def __init__(
        self,
        settings: Settings,
        *,
        read_clock: Callable[[], datetime] | None = None,
        busy_seconds: float | None = None,
    ) -> None:
        self.settings = settings
        self.database = Database(
            settings.database_url,
            synchronous=settings.sqlite_synchronous,
            read_clock=read_clock,
            patience=settings.lease_seconds,
            direct=settings.direct_database,
            busy_seconds=busy_seconds,
        )
        self.shelf: BlobStore = Directory(settings.data_folder / "blobs")
        self._identity: str | None = None
        """What tells this database from others; None until its mark is in the data folder."""

    @classmethod
    def open(
        cls,
        settings: Settings,
        *,
        read_clock: Callable[[], datetime] | None = None,
        busy_seconds: float | None = None,
    ) -> Store:
        """The store, its tables made if the database is empty, and refused if they do not fit this code.

        ``busy_seconds``: how long a writer waits for SQLite's lock; None for the usual time.
        """
        store = cls(settings, read_clock=read_clock, busy_seconds=busy_seconds)
        try:
            store._refuse_vanished()
            migrate.ensure(store.database)
        except BaseException:
            store.close()
            raise
        return store

    def _refuse_vanished(self) -> None:
        """DatabaseProblem when there is no database file though the data folder has files of its tasks: none is created."""
        folder, url = self.settings.data_folder, self.database.url
        if self.database.access.is_new() and sharing.is_marked(folder, shown(url)):
            sentence = say("database_file_unknown", file=url.database, folder=folder)
            raise DatabaseProblem(sentence, code=UNREACHABLE, public=say("database_file_gone_public"))

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A transaction that may change things: commits at the end, rolls back on an error."""
        importing.refuse_work()
        with self.database.write() as connection:
            yield Transaction(connection, self.database.clock)

    def transact(self, act: Callable[[Transaction], Result]) -> Result:
        """Run ``act`` in a transaction that may change things, and give what it returns.

        Use it wherever ``act`` can be run a second time: when PostgreSQL ends the transaction because of a deadlock or a
        serialization failure, nothing of it was kept, and it is repeated from the start after a short, random pause.
        """
        for attempt in range(1, CONFLICT_TRIES):
            try:
                with self.write() as tx:
                    return act(tx)
            except FanfoldError as problem:
                if not is_conflict(problem):
                    raise
                log.info("Repeating a transaction after a conflict (%d of %d): %s", attempt, CONFLICT_TRIES, problem)
            time.sleep(random.uniform(0.0, CONFLICT_PAUSE_SECONDS * attempt))
        with self.write() as tx:
            return act(tx)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A transaction that only looks."""
        with self.database.read() as connection:
            yield Transaction(connection, self.database.clock)

    @property
    def scratch(self) -> Path:
        """Where handlers may put files that need not outlive their attempt."""
        return self.settings.data_folder / "scratch"

    def _mark_folder(self) -> str:
        """Leave this database's mark in the data folder, before its first file."""
        if self._identity is None:
            with self.database.read() as connection:
                name = sharing.identity(connection)
            try:
                sharing.leave_mark(self.settings.data_folder, name, shown(self.database.url))
            except OSError:  # A full disk must not keep cleaning from making room; the mark is left with the next file.
                return name
            self._identity = name
        return self._identity

    def other_databases(self) -> list[str]:
        """The addresses of other databases that keep files in the same data folder."""
        return sharing.others(self.settings.data_folder, self._mark_folder())

    def own_files(self, keys: list[str]) -> list[str]:
        """Those of the blobs that may be this database's: all of them, unless others keep files in the same folder."""
        if not self.other_databases():
            return keys
        with self.database.read() as connection:
            known = sharing.known_tasks(connection, {key.partition("/")[0] for key in keys})
        return [key for key in keys if key.partition("/")[0] in known]

    def own_scratch(self, names: list[str]) -> list[str]:
        """Scratch files that may belong to this database. If others share the folder, the task id in the name decides."""
        if not names or not self.other_databases():
            return names
        named = {name: found[0] for name in names if (found := sharing.TASK_ID.search(name))}
        with self.database.read() as connection:
            known = sharing.known_tasks(connection, set(named.values()))
        return [name for name, task in named.items() if task in known]

    def close(self) -> None:
        """Close every connection."""
        self.database.close()

    def leave_connections(self) -> None:
        """In a forked copy of the process: use connections of its own from now on."""
        self.database.leave_connections()

    def bind(self, file: File) -> File:
        """A file that can be read, given one that is only named."""
        return File(file.key, file.name, file.size, self.shelf)

    def keep(self, task_id: str, name: str, source: BinaryIO | bytes) -> File:
        """Write a blob; the caller names it in a row next, or the sweep removes it."""
        importing.refuse_work()
        self._mark_folder()
        key = new_key(task_id, name)
        size = self.shelf.put(key, BytesIO(source) if isinstance(source, bytes) else source)
        return File(key, name, size, self.shelf)

    def fold(self, task_id: str, name: str, text: str) -> tuple[str, File | None]:
        """JSON text as it goes into a row: itself, or a reference to the blob that a large one was written to."""
        raw = text.encode()
        if len(raw) <= self.settings.inline_bytes:
            return text, None
        file = self.keep(task_id, name, raw)
        return serial.dump({serial.LARGE_MARK: file}, name), file

    def unfold(self, text: str | None) -> Any:
        """The value of what ``fold`` made, its files bound."""
        value = serial.load(text, self.bind)
        if isinstance(value, dict) and len(value) == 1 and isinstance(value.get(serial.LARGE_MARK), File):
            return serial.load(value[serial.LARGE_MARK].read_text(), self.bind)
        return value
