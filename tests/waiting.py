"""Waits for a condition, with a time limit."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def eventually(
    condition: Callable[[], Found], seconds: float = 60.0, *, state: Callable[[], object] = lambda: ""
) -> Found:
    """What ``condition`` gives as soon as it is true; a failure that shows the ``state`` if it is not within ``seconds``."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:g} s: {condition.__qualname__}\n{state()}")
        time.sleep(0.005)
    return found
