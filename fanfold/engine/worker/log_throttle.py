"""Has this been said already? Ten thousand items that fail for one reason are a handful of lines, with their number."""

from __future__ import annotations

import re
import time

WINDOW_SECONDS = 60.0
SAID = 5
"""So many lines of one cause are said each minute; after that the 10th, the 100th, the 1000th …"""
MOST_CAUSES = 500


class LogThrottle:
    """Counts lines by their cause, a minute at a time."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, ...], int] = {}
        self._began = time.monotonic()

    def count(self, *cause: str | None) -> tuple[bool, str]:
        """Whether a line of this cause is to be said, and what is to be added to it. Causes that differ in digits are one."""
        now = time.monotonic()
        if now - self._began > WINDOW_SECONDS or len(self._counts) >= MOST_CAUSES:
            self._counts, self._began = {}, now
        key = tuple(re.sub(r"\d+", "#", part or "")[:200] for part in cause)
        times = self._counts[key] = self._counts.get(key, 0) + 1
        if times < SAID:
            return True, ""
        if times == SAID:
            return True, " (for a minute, only the 10th, the 100th, the 1000th … like this is said)"
        return str(times).strip("0") == "1", f" ({times} like this within a minute)"
