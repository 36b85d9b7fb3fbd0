"""`python -m tests.chaos.shifted …` is `fanfold …` with a clock that a test can set.

The file named by FANFOLD_CHAOS_CLOCK holds by how many seconds the clock is off; FANFOLD_CHAOS_HOST names another machine.
"""

from __future__ import annotations

import os
import platform
import runpy
import time
from pathlib import Path

CLOCK = "FANFOLD_CHAOS_CLOCK"
HOST = "FANFOLD_CHAOS_HOST"


def shift() -> None:
    """Have `time.time` read the file at each call, and `platform.node` tell another machine."""
    path, true_time = Path(os.environ[CLOCK]), time.time
    time.time = lambda: true_time() + float(path.read_text() or 0)
    if host := os.environ.get(HOST):
        platform.node = lambda: host


if __name__ == "__main__":
    shift()
    runpy.run_module("fanfold.cli", run_name="__main__", alter_sys=True)
