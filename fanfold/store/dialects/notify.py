"""Did something change? Hints that wake idle workers early; nothing depends on them, polling always works."""

from __future__ import annotations

import threading
import time
from typing import Any

from fanfold.errors import DatabaseProblem
from fanfold.store.database import Database
from fanfold.store.database_errors import is_driver_error
from fanfold.store.dialects.postgresql import postgres_options
from fanfold.store.dialects.sqlite import sqlite_module

CHANNEL = "fanfold"
SQLITE_LOOK_SECONDS = 0.015
RECONNECT_SECONDS = 1.0


class Hints:
    """Waits for a change made by anyone; one per process, used from one thread."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._connection: Any = None
        self._version: int | None = None
        self._heard_at = 0.0

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """True as soon as something may have changed; False when ``seconds`` are over or there is no connection."""
        try:
            if self.database.dialect != "postgresql":
                return self._compare(stop, seconds)
            if not self.possible:
                stop.wait(seconds)
                return False
            return self._listen(seconds)
        except Exception as error:
            if not is_driver_error(error) and not isinstance(error, DatabaseProblem | OSError):
                raise
            self.close()
            stop.wait(min(seconds, RECONNECT_SECONDS))
            return False

    @property
    def possible(self) -> bool:
        """Whether there is a connection to listen on: not behind a pooler, unless there is a way around it."""
        return self.database.direct is not None or not self.database.is_pooled

    def close(self) -> None:
        """Let the connection go."""
        connection, self._connection, self._version = self._connection, None, None
        if connection is not None:
            connection.close()

    def _listen(self, seconds: float) -> bool:
        if self._connection is None:
            import psycopg

            database = self.database
            url = database.direct or database.url
            arguments = database.engine.dialect.create_connect_args(url)[1]
            options = postgres_options(url, database.patience, "fanfold-hints")
            self._connection = psycopg.connect(**{**arguments, **options}, autocommit=True)
            self._say(f"LISTEN {CHANNEL}")
            return True
        if time.monotonic() - self._heard_at > self.database.patience:
            # Silence is what a dead connection sounds like, too.
            self._say("SELECT 1")
        heard = any(True for _ in self._connection.notifies(timeout=seconds, stop_after=1))
        if heard:
            self._heard_at = time.monotonic()
        return heard

    def _say(self, statement: str) -> None:
        with self.database.connections.using(self._connection):
            self._connection.execute(statement)
        self._heard_at = time.monotonic()

    def _compare(self, stop: threading.Event, seconds: float) -> bool:
        if self._connection is None:
            self._connection = sqlite_module().connect(
                str(self.database.url.database), check_same_thread=False, isolation_level=None
            )
        for _ in range(max(1, int(seconds / SQLITE_LOOK_SECONDS))):
            version = self._connection.execute("PRAGMA data_version").fetchone()[0]
            if version != self._version:
                self._version = version
                return True
            if stop.wait(SQLITE_LOOK_SECONDS):
                return False
        return False
