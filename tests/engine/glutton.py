"""Handlers that take memory, start other processes, or never end, in a child process."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import fanfold as ff

gluttons = ff.Pipeline("gluttons")
families = ff.Pipeline("families")
MEGABYTE = 1_000_000


def take(megabytes: int) -> int:
    """Take memory, keep it for a while, and say how much it was."""
    taken = bytearray(megabytes * MEGABYTE)
    taken[:: 1 << 12] = b"\x01" * len(taken[:: 1 << 12])
    time.sleep(3 if megabytes > 100 else 0)
    return len(taken) // MEGABYTE


@gluttons.each(isolate=True, retry=ff.Retry(limit=3))
def swallow(item: Any) -> int:
    """Take as many megabytes as the input says."""
    return take(item.input)


@families.each(isolate=True, timeout=None, retry=ff.Retry(limit=0))
def start(item: Any) -> None:
    """Start another process, say who both are, and wait for it."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    Path(item.input).write_text(f"{os.getpid()} {other.pid}")
    other.wait()


def leave_the_pipe_open(note: str) -> None:
    """Die while a process that inherited everything lives on."""
    pid = os.fork()
    if pid == 0:
        os.setsid()  # Out of the group, which is ended with the child.
        time.sleep(3_600)
    Path(note).write_text(str(pid))
    os._exit(3)
