"""Restores process-wide state that a handler in a child process may have changed, after each call."""

from __future__ import annotations

import os
import resource
import signal
from contextlib import suppress

from fanfold.engine.worker.processes.descendants import any_left

STREAMS = (0, 1, 2)
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
LIMITS = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})


class ProcessState:
    """The state of this process as it was before the first call."""

    def __init__(self) -> None:
        self._folder = _folder()
        self._mask = os.umask(0o077)
        os.umask(self._mask)
        self._signals = {number: signal.getsignal(number) for number in signal.valid_signals()}
        self._streams = [_file(number) for number in STREAMS]
        self._limits = [resource.getrlimit(limit) for limit in LIMITS]

    def put_back(self) -> bool:
        """Undo changes that would surprise the next handler; False if this process must not run another one."""
        for timer in TIMERS:
            signal.setitimer(timer, 0)
        for number, handler in self._signals.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)
        os.umask(self._mask)
        if self._folder is not None and _folder() != self._folder:
            with suppress(OSError):  # The folder was removed.
                os.chdir(self._folder)
        return not (any_left() or self._has_less())

    def _has_less(self) -> bool:
        """Whether a standard stream was replaced or a limit lowered, which cannot always be undone."""
        if [_file(number) for number in STREAMS] != self._streams:
            return True
        now = [resource.getrlimit(limit) for limit in LIMITS]
        return any(_is_lower(one, before) for one, before in zip(now, self._limits, strict=True))


def _is_lower(now: tuple[int, int], before: tuple[int, int]) -> bool:
    return any(_size(one) < _size(other) for one, other in zip(now, before, strict=True))


def _size(limit: int) -> float:
    return float("inf") if limit == resource.RLIM_INFINITY else limit


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _file(number: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino
