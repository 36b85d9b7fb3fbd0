"""The clock of a handler in a child process: the parent keeps the time, and the child tells it when to stop and continue."""

from __future__ import annotations

import threading
from collections.abc import Callable

HELD, GOES_ON = "held", "goes_on"
"""Sent when the handler starts to wait for permission to ask a model, and when it gets it: its time stands still in between."""


class ToldClock:
    """Tells the parent, which keeps the time, when it stands still; from any thread, until the handler has ended."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self._send = send
        self._holds = 0
        self._is_closed = False
        self._lock = threading.Lock()

    def hold(self) -> None:
        """Stop the time."""
        with self._lock:
            self._holds += 1
            if self._holds == 1 and not self._is_closed:
                self._send(HELD)

    def go_on(self) -> None:
        """Let the time run again once every holder has called this."""
        with self._lock:
            self._holds -= 1
            if not self._holds and not self._is_closed:
                self._send(GOES_ON)

    def close(self) -> None:
        """Send nothing more: from now on the pipe is reserved for the reply."""
        with self._lock:
            self._is_closed = True
