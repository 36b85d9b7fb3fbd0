"""Time limit of a handler. The time starts when the handler is called. It stands still while a child process starts,
and while a question to a model waits for permission (rate limit) to be sent.

Nothing here sets a timer. Threads record when something started; the loop's one timer asks when an attempt is due, and is set
again if it was too early. The database knows only the limit itself: when time stood still, its deadline has to be moved.
"""

from __future__ import annotations

import threading
import time

_lock = threading.Lock()
HELD_LOOK_SECONDS = 0.25
"""Minimum time before a held attempt is checked again, even if less is left of its limit."""


class LoopBlocked(BaseException):
    """Raised in a handler that blocks the event loop past its limits. A BaseException, so that `except Exception` misses it."""


class TimeLimit:
    """The time limit of one attempt; may be used from any thread."""

    __slots__ = ("_begun_at", "_extended", "_held_since", "_holds", "_stood_still", "seconds")

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._begun_at: float | None = None
        self._stood_still = 0.0
        self._held_since = 0.0
        self._holds = 0
        self._extended = 0.0

    def begin(self) -> None:
        """Start the time: the handler is called now."""
        self._begun_at = time.monotonic()

    def end(self) -> None:
        """Stop the time: the handler has returned, and what follows has no limit."""
        self.seconds = None

    def forgive(self, seconds: float) -> None:
        """Do not count these seconds: something else kept the handler from running."""
        with _lock:
            self._stood_still += seconds

    def hold(self) -> None:
        """Stop counting until ``go_on``; several holders may overlap."""
        with _lock:
            if not self._holds:
                self._held_since = time.monotonic()
            self._holds += 1

    def go_on(self) -> None:
        """Count again once every holder has called this."""
        with _lock:
            self._holds -= 1
            if not self._holds:
                self._stood_still += time.monotonic() - self._held_since

    def due(self, now: float) -> float | None:
        """The earliest time at which the attempt can be overdue, as known now; None without a limit."""
        limit = self.seconds
        if limit is None:
            return None
        if self._begun_at is None:
            return now + limit
        due = self._begun_at + limit + self._stood_still
        if not self._holds:
            return due
        return max(due + now - self._held_since, now + HELD_LOOK_SECONDS)

    def extend(self, claimed_at: float, now: float, seconds: float) -> bool:
        """Whether the deadline in the database has passed, which counts from the claim; it is then ``seconds`` from now."""
        if self.seconds is None or now < claimed_at + self.seconds + self._extended:
            return False
        self._extended = now + seconds - claimed_at - self.seconds
        return True

    @property
    def is_over(self) -> bool:
        """Whether the attempt has taken too long."""
        now = time.monotonic()
        due = self.due(now)
        return due is not None and due <= now


class TimeHold:
    """Stops the time of an attempt until it is released, or until the end of the block."""

    def __init__(self, limit: TimeLimit) -> None:
        self._limit: TimeLimit | None = limit

    def __enter__(self) -> TimeHold:
        assert self._limit is not None
        self._limit.hold()
        return self

    def release(self) -> None:
        """Let the time run again; calling it twice is harmless."""
        limit, self._limit = self._limit, None
        if limit is not None:
            limit.go_on()

    def __exit__(self, *_: object) -> None:
        self.release()
