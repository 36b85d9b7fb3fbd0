"""Hints that wake idle workers early. Nothing depends on them: polling always works."""

from __future__ import annotations

import threading

from fanfold.errors import DatabaseProblem
from fanfold.store.database import Database
from fanfold.store.database_errors import is_driver_error

RECONNECT_SECONDS = 1.0


class Hints:
    """Waits for changes by any process; one per process, used from one thread."""

    def __init__(self, database: Database) -> None:
        self._listener = database.access.listener(database.read)

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """True as soon as something may have changed; False after ``seconds`` or without a connection."""
        try:
            if self.possible:
                return self._listener.wait(stop, seconds)
            stop.wait(seconds)
        except Exception as error:
            if not is_driver_error(error) and not isinstance(error, DatabaseProblem | OSError):
                raise
            self.close()
            stop.wait(min(seconds, RECONNECT_SECONDS))
        return False

    @property
    def possible(self) -> bool:
        """Whether there is a connection to listen on."""
        return self._listener.possible

    @property
    def tells_all(self) -> bool:
        """Whether every commit is reported, or only announced work."""
        return self._listener.tells_all

    def interrupt(self) -> None:
        """End a wait after its ``stop`` was set; from any thread."""
        self._listener.interrupt()

    def close(self) -> None:
        """Close the connection."""
        self._listener.close()
