"""Finds and ends the descendants of a process."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux."""


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def any_left() -> bool:
    """Whether a process started here still runs; ended ones are reaped."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def end_descendants(pid: int) -> None:
    """Kill everything a process has started, in any session or group. The process must not start more meanwhile."""
    killed: set[int] = set()
    while found := _descendants(pid) - killed:
        for one in found:
            with suppress(ProcessLookupError, PermissionError):  # Already gone, or not ours.
                os.kill(one, signal.SIGKILL)
        killed |= found


def _descendants(pid: int) -> set[int]:
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for child in _children(waiting.pop()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def _children(pid: int) -> list[int]:
    """The child processes; empty where the system does not list them."""
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # The thread has ended meanwhile.
                found += map(int, (thread / "children").read_text().split())
    return found
