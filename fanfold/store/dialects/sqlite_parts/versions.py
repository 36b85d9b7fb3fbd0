"""Notices commits of other connections to a SQLite file."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from fanfold.store.dialects.access import Listener
from fanfold.store.dialects.sqlite_parts import opened_file
from fanfold.store.dialects.sqlite_parts.log_watch import LogWatch

LOOK_SECONDS = 0.015
"""Shortest interval between two reports, and the polling interval where the kernel does not report writes."""
FIRST_LOOK_SECONDS, LAST_LOOK_SECONDS = 0.001, 0.05
"""A commit is visible when its pages are on the disk, a little after they are written to the log: look again after these."""


class Versions(Listener):
    """Reads ``data_version``, a number that changes with every commit of another connection, when the log was written to.

    Writes from other machines to a shared file are not reported by the kernel, so the number is also read at each call.
    """

    tells_all = True

    def __init__(self, file: Path) -> None:
        self.file = file
        self._connection: Any = None
        self._version: int | None = None
        self._watch: LogWatch | None = None
        self._told_at = 0.0

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """True when the number has changed."""
        if self._connection is None:
            self._connect()
        elif not opened_file.has_its_log(self._connection):
            self.close()
            return True
        # The worker that is told commits too, and would be told of that: without a pause it would poll all the time.
        if (pause := self._told_at + LOOK_SECONDS - time.monotonic()) > 0 and stop.wait(pause):
            return False
        changed = self._polled(stop, seconds) if self._watch is None else self._watched(self._watch, stop, seconds)
        if changed:
            self._told_at = time.monotonic()
        return changed

    def interrupt(self) -> None:
        """End a wait; from any thread."""
        if (watch := self._watch) is not None:
            watch.interrupt()

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection, self._version = self._connection, None, None
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()
        if connection is not None:
            connection.close()

    def _connect(self) -> None:
        self._connection = opened_file.connect(self.file, check_same_thread=False, isolation_level=None)
        opened_file.note_log(self._connection)
        try:
            self._watch = LogWatch(self._connection.log_path)
        except OSError:
            self._watch = None

    def _has_changed(self) -> bool:
        version = self._connection.execute("PRAGMA data_version").fetchone()[0]
        changed, self._version = version != self._version, version
        return bool(changed)

    def _polled(self, stop: threading.Event, seconds: float) -> bool:
        for _ in range(max(1, int(seconds / LOOK_SECONDS))):
            if self._has_changed():
                return True
            if stop.wait(LOOK_SECONDS):
                return False
        return False

    def _watched(self, watch: LogWatch, stop: threading.Event, seconds: float) -> bool:
        end, next_look = time.monotonic() + seconds, FIRST_LOOK_SECONDS
        while not self._has_changed():
            left = end - time.monotonic()
            if left <= 0 or stop.is_set():
                return False
            if watch.wait(min(left, next_look)):
                next_look = FIRST_LOOK_SECONDS
            else:
                # After the last write, look a few times; then only the next write counts.
                next_look = next_look * 2 if next_look < LAST_LOOK_SECONDS else left
        return True
