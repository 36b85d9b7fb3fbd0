"""Waits for a condition, with a time limit."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def eventually(
    condition: Callable[[], Found], seconds: float = 60.0, *, state: Callable[[], object] = lambda: ""
) -> Found:
    """What ``condition`` gives as soon as it is true; a failure that shows the ``state`` if it is not within ``seconds``."""
    start = time.monotonic()
    while True:
        asked_at = time.monotonic()
        if found := condition():
            return found
        now = time.monotonic()
        if now > start + seconds:
            raise AssertionError(f"not within {seconds:g} s: {condition.__qualname__}\n{state()}")
        # A condition that is costly to look at is looked at less often: others need the processor to make it true.
        time.sleep(min(max(0.005, 6 * (now - asked_at)), 0.25))
