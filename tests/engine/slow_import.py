"""Handlers in a module whose import takes long, fails or never ends in a child process, as the test says."""

import multiprocessing
import os
import time
from typing import Any

import fanfold as ff

HOW = "FANFOLD_TEST_IMPORT"

if multiprocessing.parent_process() is not None:
    how, _, seconds = os.environ.get(HOW, "").partition(" ")
    if how == "sleep":
        time.sleep(float(seconds))
    if how == "raise":
        raise RuntimeError("the model file is missing")
    if how == "exit":
        os._exit(7)

slow = ff.Pipeline("slow-import")
plain = ff.Pipeline("plain")


@slow.each(isolate=True, timeout=4.0, retry=ff.Retry(limit=0))
def read(item: Any) -> str:
    """Quick, once it is called."""
    return f"read {item.input}"


@plain.each(retry=ff.Retry(limit=0))
def shout(item: Any) -> str:
    """Not isolated, unless it is suspect."""
    return str(item.input).upper()


def double(value: int) -> int:
    """For `in_child`."""
    return 2 * value
