"""The store of one installation: the database, opened in transactions, and the places of its files."""

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
from fanfold.model.values.decoding import PLAIN, Reading
from fanfold.model.values.files import File
from fanfold.settings import Settings
from fanfold.store.database import Database
from fanfold.store.database_errors import UNREACHABLE, is_conflict
from fanfold.store.files import sharing
from fanfold.store.files.file_store import FileStore, new_key
from fanfold.store.files.places import Places
from fanfold.store.streams.in_redis import LiveStreams, check_url
from fanfold.store.transaction import Transaction
from fanfold.store.upgrade import migrate
from fanfold.store.urls import shown

log = logging.getLogger("fanfold.store")
Result = TypeVar("Result")
__all__ = ["CONFLICT_TRIES", "Store", "Transaction"]
CONFLICT_TRIES = 10
LARGE_START = f'{{"{serial.LARGE_MARK}":'
"""Prefix of a row's text if its value is in a file."""
CONFLICT_PAUSE_SECONDS = 0.05
"""Longest pause before the first retry after a conflict; it grows with each retry."""


class Store:
    """The database and the blobs of one installation."""

    def __init__(
        self,
        settings: Settings,
        *,
        read_clock: Callable[[], datetime] | None = None,
        busy_seconds: float | None = None,
        database: Database | None = None,
    ) -> None:
        """``database``: one that is already open, and is not closed with the store."""
        self.settings = settings
        self._owned = database is None
        self.database = database or Database(
            settings.database_url,
            synchronous=settings.sqlite_synchronous,
            read_clock=read_clock,
            patience=settings.lease_seconds,
            direct=settings.direct_database,
            busy_seconds=busy_seconds,
        )
        self.shelf = Places(settings, self._known_places)
        self._identity: str | None = None
        """Identifies this database among others; None until its mark is where its files are."""
        self._live_streams: LiveStreams | None = None

    @classmethod
    def open(
        cls,
        settings: Settings,
        *,
        read_clock: Callable[[], datetime] | None = None,
        busy_seconds: float | None = None,
    ) -> Store:
        """Open the store. Creates the tables of an empty database, and refuses tables that do not fit this code.

        ``busy_seconds``: how long a writer waits for SQLite's lock; None for the default.
        """
        if settings.streams:
            check_url(settings.streams)
        store = cls(settings, read_clock=read_clock, busy_seconds=busy_seconds)
        try:
            store._refuse_vanished()
            migrate.ensure(store.database)
        except BaseException:
            store.close()
            raise
        return store

    def _refuse_vanished(self) -> None:
        """DatabaseProblem if the database file is missing but the data folder still has files of its tasks."""
        folder, url = self.settings.data_folder, self.database.url
        if self.database.access.is_new() and sharing.is_marked(folder, shown(url)):
            sentence = say("database_file_unknown", file=url.database, folder=folder)
            raise DatabaseProblem(sentence, code=UNREACHABLE, public=say("database_file_gone_public"))

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A write transaction: commits at the end, rolls back on an error."""
        importing.refuse_work()
        with self.database.write() as connection:
            yield Transaction(connection, self.database.clock)

    def transact(self, act: Callable[[Transaction], Result]) -> Result:
        """Run ``act`` in a write transaction and return its result.

        Use it wherever ``act`` can run twice: when PostgreSQL rolls back because of a deadlock or a serialization
        failure, the transaction is repeated from the start after a short random pause.
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
        """A read-only transaction."""
        with self.database.read() as connection:
            yield Transaction(connection, self.database.clock)

    @property
    def scratch(self) -> Path:
        """Folder for handlers' files that need not outlive the attempt."""
        return self.settings.data_folder / "scratch"

    def _known_places(self) -> list[str]:
        """The buckets that this installation has used; none if the database is older than the table, or away."""
        try:
            with self.read() as tx:
                return tx.file_places.all()
        except DatabaseProblem as problem:
            log.debug("Could not look up the places of files: %s", problem)
            return []

    def _mark_places(self) -> str:
        """Write this database's mark into the data folder and where files go, before its first file.

        A bucket is checked with it, and remembered in the database, so that every process finds the files in it.
        """
        if self._identity is not None:
            return self._identity
        with self.database.read() as connection:
            name = sharing.identity(connection)
        try:
            sharing.leave_mark(self.settings.data_folder, name, shown(self.database.url))
        except OSError:  # A full disk must not stop cleanup. The mark is written with the next file.
            return name
        if self.shelf.is_remote:
            self.add_place(self.shelf.home, name)
        self._identity = name
        return name

    def add_place(self, place: FileStore, name: str | None = None) -> None:
        """Check a bucket, leave the mark of this database in it, and remember it."""
        place.mark(name or self._mark_places(), shown(self.database.url))
        self.transact(lambda tx: tx.file_places.add(place.address))

    def check_files(self) -> None:
        """DatabaseProblem if files cannot be stored where the settings say: the bucket is away, or not safe to use."""
        self.shelf.probe()
        self._mark_places()

    def other_databases(self, place: FileStore | None = None) -> list[str]:
        """The addresses of other databases that keep files in the same place, by default in the data folder."""
        own, marks = self._mark_places(), (place or self.shelf.folder).marks()
        return [address for name, address in marks.items() if name != own]

    def own_files(self, keys: list[str], place: FileStore | None = None) -> list[str]:
        """The blobs that may belong to this database: all of them, unless other databases share the place."""
        if not keys or not self.other_databases(place):
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

    @property
    def live_streams(self) -> LiveStreams | None:
        """Redis as the carrier of streamed output, if the settings name one."""
        if self._live_streams is None and self.settings.streams:
            with self.database.read() as connection:
                name = sharing.identity(connection)
            self._live_streams = LiveStreams(self.settings.streams, name)
        return self._live_streams

    def close(self) -> None:
        """Close every connection, unless the database was passed in already open."""
        if self._live_streams is not None:
            self._live_streams.close()
        if self._owned:
            self.database.close()

    def leave_connections(self) -> None:
        """In a forked process: use its own connections from now on."""
        self.database.leave_connections()

    def bind(self, file: File) -> File:
        """The same file, made readable."""
        return File(file.key, file.name, file.size, self.shelf)

    def keep(
        self, task_id: str, name: str, source: BinaryIO | bytes, item: int | None = None, lease: int | None = None
    ) -> File:
        """Write a blob. The caller must reference it in a row next, or the sweep removes it.

        ``item`` and ``lease``: the attempt that writes it.
        """
        importing.refuse_work()
        self._mark_places()
        key = new_key(task_id, name, item, lease)
        size = self.shelf.put(key, BytesIO(source) if isinstance(source, bytes) else source, name)
        return File(key, name, size, self.shelf)

    def fold(self, task_id: str, name: str, text: str) -> tuple[str, File | None]:
        """JSON text as stored in a row: the text itself, or a reference to a blob if it is large."""
        raw = text.encode()
        if len(raw) <= self.settings.inline_bytes:
            return text, None
        file = self.keep(task_id, name, raw)
        return serial.dump({serial.LARGE_MARK: file}, name), file

    def unfold(
        self, text: str | None, reading: Reading = PLAIN, hint: Any = Any, bind: Callable[[File], File] | None = None
    ) -> Any:
        """The value that ``fold`` stored, with readable files; ``reading`` and ``hint`` say which types it has.

        ``bind``: makes the files in it readable, if not in the usual way.
        """
        if text is not None and text.startswith(LARGE_START):
            value = serial.load(text, self.bind)
            if len(value) == 1 and isinstance(value.get(serial.LARGE_MARK), File):
                text = value[serial.LARGE_MARK].read_text()
        return serial.load(text, bind or self.bind, reading, hint)
