"""Lets readers detect that SQLite's write lock has been held for long.

A probe takes the lock without waiting and releases it at once. It writes nothing, so no disk is flushed and no hint is sent.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from fanfold.errors import DatabaseProblem
from fanfold.store.database import Database
from fanfold.store.dialects.sqlite_parts.opened_file import connect, has_its_log, note_log
from fanfold.store.dialects.sqlite_parts.sqlite_module import sqlite_module

PROBE_SECONDS = 1.0
"""Shortest interval between two probes."""
STALE_SECONDS = 15.0
"""Age at which the result of a probe expires."""


class WriteLock:
    """SQLite's write lock, probed from one thread; on PostgreSQL, which has none, it is always free."""

    def __init__(self, database: Database) -> None:
        is_file = database.dialect.name == "sqlite" and not database.access.has_one_connection
        self._path = Path(str(database.url.database)).absolute() if is_file else None
        self._connection: Any = None
        self._version: int | None = None
        self._held_since: float | None = None
        self._probed_at = -STALE_SECONDS

    @property
    def held_seconds(self) -> float:
        """How long the same transaction has held the lock, according to the probes; 0 if the lock is free."""
        since, now = self._held_since, time.monotonic()
        return 0.0 if since is None or now - self._probed_at > STALE_SECONDS else now - since

    def probe(self) -> None:
        """Check whether the lock is free. A commit since the last probe means that the lock changed hands."""
        now = time.monotonic()
        if self._path is None or now - self._probed_at < PROBE_SECONDS:
            return
        is_stale, self._probed_at = now - self._probed_at > STALE_SECONDS, now
        errors = sqlite_module()
        try:
            if self._connection is None:
                self._connection = connect(self._path, timeout=0, check_same_thread=False, isolation_level=None)
                note_log(self._connection)
            elif not has_its_log(self._connection):
                self.close()
                return
            version = self._connection.execute("PRAGMA data_version").fetchone()[0]
            is_held = not self._taken()
        except (errors.Error, DatabaseProblem):
            # Missing, not writable, or not a database: reads will report it.
            self.close()
            return
        if not is_held:
            self._held_since = None
        elif self._held_since is None or is_stale or version != self._version:
            self._held_since = now
        self._version = version

    def _taken(self) -> bool:
        """Take and release the lock; False if it is held."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite_module().OperationalError as error:
            if "locked" not in str(error):
                raise
            return False
        self._connection.execute("ROLLBACK")
        return True

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection, self._held_since = self._connection, None, None
        if connection is not None:
            connection.close()
