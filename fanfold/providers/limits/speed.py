"""Measures the calls and answers per second of one process.

They decide how often the process visits the rows of a limit, and where the search for an unknown rate starts.
"""

from __future__ import annotations

from collections import Counter

ANSWERED_SECONDS = 10
"""Length of the window in which answers count when a service refuses."""


class Speed:
    """Recent calls per second."""

    def __init__(self, now: float) -> None:
        self.calls = 0
        self.value = 0.0
        self._since = now

    def measured(self, now: float) -> float:
        """The speed, averaged over a second or so."""
        if now >= self._since + 0.5:
            self.value = (self.value + self.calls / (now - self._since)) / 2
            self.calls, self._since = 0, now
        return self.value


class Answered:
    """Answers of the last ANSWERED_SECONDS, counted per second."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._since: float | None = None

    def add(self, now: float) -> None:
        """An answer came."""
        if self._since is None:
            self._since = now
        self._counts[int(now)] += 1
        if len(self._counts) > 2 * ANSWERED_SECONDS:
            self._forget(now)

    def per_second(self, now: float) -> float:
        """Mean answers per second since the first answer, over at least 1 s and at most ANSWERED_SECONDS."""
        self._forget(now)
        since = now if self._since is None else self._since
        return self._counts.total() / min(float(ANSWERED_SECONDS), max(1.0, now - since))

    def _forget(self, now: float) -> None:
        for second in [one for one in self._counts if one <= now - ANSWERED_SECONDS - 1]:
            del self._counts[second]
