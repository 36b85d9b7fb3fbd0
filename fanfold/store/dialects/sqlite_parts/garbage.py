"""Postpones Python's garbage collection while SQLite's write lock is held.

A full collection takes about 80 ms in a process with many modules, and several times that on a busy machine; all other writers
would wait for it. It runs as soon as the lock is free.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Holders:
    """How many transactions hold a lock now (one per database), and whether the collector was enabled before."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.was_enabled = False

    def enter(self) -> None:
        with self.lock:
            if self.count == 0 and gc.isenabled():
                self.was_enabled = True
                gc.disable()
            self.count += 1

    def leave(self) -> None:
        with self.lock:
            self.count -= 1
            if self.count == 0 and self.was_enabled:
                self.was_enabled = False
                gc.enable()

    def begin_anew(self) -> None:
        """In a forked process: the threads that held a lock are not in it."""
        self.lock = threading.Lock()
        self.count = 0
        if self.was_enabled:
            self.was_enabled = False
            gc.enable()


_HOLDERS = _Holders()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_HOLDERS.begin_anew)


@contextmanager
def collecting_later() -> Iterator[None]:
    """Disable garbage collection meanwhile, in all threads."""
    _HOLDERS.enter()
    try:
        yield
    finally:
        _HOLDERS.leave()
