"""Ends a child process that starts work during its imports.

A child process imports the main script of its parent. A script that runs its pipeline without `if __name__ == "__main__":` would
run it again there: parent and child would wait for each other, and every child would submit the same tasks again.
"""

from __future__ import annotations

import os
import sys
import threading

CHILD_NAME = "fanfold-child"
UNGUARDED_EXIT = 96
"""Exit code of such a child: before its imports are done it has no other way to tell its parent why."""

NOT_AT_ALL, IN_MAIN_THREAD, IN_ANY_THREAD = range(3)
"""Which threads are importing. Threads left over from an earlier handler may work while the next one is imported."""


class _Imports:
    state: int | None = None


def note(state: int) -> None:
    """Record whether this child process is importing now."""
    _Imports.state = state


def refuse_work() -> None:
    """End this process if it is a child that is still importing. Called before anything is written."""
    if _Imports.state is None:
        _Imports.state = IN_ANY_THREAD if _is_new_child() else NOT_AT_ALL
    if _Imports.state == NOT_AT_ALL:
        return
    if _Imports.state == IN_ANY_THREAD or threading.current_thread() is threading.main_thread():
        os._exit(UNGUARDED_EXIT)


def _is_new_child() -> bool:
    """Whether this process was started as a child, which imports the main script before anything else."""
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.current_process().name == CHILD_NAME
