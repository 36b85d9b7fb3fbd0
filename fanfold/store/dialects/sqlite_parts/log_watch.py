"""Waits until a file is written to, with the kernel's notifications (inotify), or until another thread interrupts the wait.

Only Linux on the same machine has them; elsewhere the caller polls.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import sys
import threading
from pathlib import Path

IN_MODIFY = 0x2
EVENTS_BYTES = 65_536


class LogWatch:
    """Watches one file; used from one thread, except ``interrupt``."""

    def __init__(self, path: Path) -> None:
        """OSError if the file cannot be watched: it is missing, there is no inotify, or its limits are reached."""
        self._notices = _watching(path)
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._notices, select.POLLIN)
        self._poll.register(self._wake_read, select.POLLIN)
        self._lock = threading.Lock()
        self._closed = False

    def wait(self, seconds: float) -> bool:
        """True if the file was written to since the last call; False after ``seconds`` or when interrupted."""
        ready = {descriptor for descriptor, _ in self._poll.poll(max(0.0, seconds) * 1_000)}
        if self._wake_read in ready:
            os.read(self._wake_read, EVENTS_BYTES)
        if self._notices in ready:
            os.read(self._notices, EVENTS_BYTES)
        return self._notices in ready

    def interrupt(self) -> None:
        """End the wait of the other thread, or its next one."""
        with self._lock:
            if not self._closed:
                os.write(self._wake_write, b".")

    def close(self) -> None:
        """Stop watching."""
        with self._lock:
            self._closed = True
            for descriptor in (self._notices, self._wake_read, self._wake_write):
                os.close(descriptor)


def _watching(path: Path) -> int:
    """A descriptor that becomes readable when the file is written to."""
    if not sys.platform.startswith("linux"):
        raise OSError(errno.ENOSYS, "inotify exists only on Linux")
    system = ctypes.CDLL(None, use_errno=True)
    if not hasattr(system, "inotify_init1"):
        raise OSError(errno.ENOSYS, "this C library has no inotify")
    descriptor = int(system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if system.inotify_add_watch(descriptor, os.fsencode(path), IN_MODIFY) < 0:
        number = ctypes.get_errno()
        os.close(descriptor)
        raise OSError(number, os.strerror(number))
    return descriptor
