"""Measures attempts for a tick: how long each stage takes, and which tasks got further."""

from __future__ import annotations

from collections import deque

from fanfold.model.endings import Ending

KEPT = 50
"""Durations kept of a stage: enough for a high quantile, few enough to forget a slow day soon."""
STEPS = (Ending.FINISH, Ending.FAIL, Ending.POSTPONE)
"""Endings after which a task is further than before."""


class Measured:
    """What the attempts of one run took, by pipeline and stage."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[str, str], deque[float]] = {}
        self.tasks: set[int] = set()
        """Numbers of the tasks that got further."""

    def note(self, pair: tuple[str, str], task: int, ending: Ending, seconds: float) -> None:
        """Note an attempt. One that was cut off took at least this long."""
        self.seconds.setdefault(pair, deque(maxlen=KEPT)).append(seconds)
        if ending in STEPS:
            self.tasks.add(task)
