"""Whether somebody holds SQLite's write lock for long, seen by those who only read.

A probe takes the lock without waiting and gives it back at once. Nothing is written, so no disk is flushed and no hint goes out.
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
"""A probe is made no more often than this."""
STALE_SECONDS = 15.0
"""What probes have seen counts for no longer than this."""


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
        """For how long one and the same transaction has had the lock, as far as probes have seen; 0 when it is free."""
        since, now = self._held_since, time.monotonic()
        return 0.0 if since is None or now - self._probed_at > STALE_SECONDS else now - since

    def probe(self) -> None:
        """Look whether the lock is free. A commit since the last probe means that it went from hand to hand."""
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
            # Gone, not writable, or not a database: those who read it say so.
            self.close()
            return
        if not is_held:
            self._held_since = None
        elif self._held_since is None or is_stale or version != self._version:
            self._held_since = now
        self._version = version

    def _taken(self) -> bool:
        """Take the lock and give it back; False when somebody has it."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite_module().OperationalError as error:
            if "locked" not in str(error):
                raise
            return False
        self._connection.execute("ROLLBACK")
        return True

    def close(self) -> None:
        """Let the connection go."""
        connection, self._connection, self._held_since = self._connection, None, None
        if connection is not None:
            connection.close()
