"""Functions that handlers run in a child process."""

import os
import signal
import threading
from typing import Any

import fanfold as ff


def where(*numbers: int, times: int = 1) -> tuple[int, int]:
    """The process this runs in, and a sum."""
    return os.getpid(), sum(numbers) * times


def fails(how: str) -> Any:
    """End in one of many ways."""
    if how == "permanent":
        raise ff.Permanent("no use", code="mine")
    if how == "odd":
        raise Odd(threading.Lock())
    if how == "unpicklable":
        return threading.Lock()
    os.kill(os.getpid(), signal.SIGKILL)
    return None


class Odd(Exception):
    """One that cannot travel."""
