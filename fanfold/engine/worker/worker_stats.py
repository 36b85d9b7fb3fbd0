"""Rolling counts of the last minute, which a worker reports with its heartbeat."""

from __future__ import annotations

import time
from collections import deque

WINDOW_SECONDS = 60.0


class WorkerStats:
    """Endings of the last minute, in buckets of one second."""

    def __init__(self) -> None:
        self._buckets: deque[list[float]] = deque()

    def add(self, done: bool, now: float, seconds: float) -> None:
        """Count the ending of an attempt that took ``seconds``, at ``now`` on the monotonic clock."""
        second = float(int(now))
        if not self._buckets or self._buckets[-1][0] != second:
            self._buckets.append([second, 0, 0, 0.0])
        bucket = self._buckets[-1]
        bucket[1 if done else 2] += 1
        bucket[3] += seconds

    def last_minute(self) -> tuple[int, int, float]:
        """(done, failed, busy seconds of handlers)."""
        oldest = time.monotonic() - WINDOW_SECONDS
        while self._buckets and self._buckets[0][0] < oldest:
            self._buckets.popleft()
        counted = list(self._buckets)
        return int(sum(b[1] for b in counted)), int(sum(b[2] for b in counted)), sum(b[3] for b in counted)
