"""Limits repeated log lines: ten thousand items that fail for one reason become a handful of lines, with their number."""

from __future__ import annotations

import re
import time

WINDOW_SECONDS = 60.0
SAID = 5
"""Lines logged per cause and minute; after that only the 10th, the 100th, the 1000th …"""
MOST_CAUSES = 500


class LogThrottle:
    """Counts lines by their cause, a minute at a time."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, ...], int] = {}
        self._began = time.monotonic()

    def count(self, *cause: str | None) -> tuple[bool, str]:
        """Whether to log a line with this cause, and what to append. Causes that differ only in digits are the same."""
        now = time.monotonic()
        if now - self._began > WINDOW_SECONDS or len(self._counts) >= MOST_CAUSES:
            self._counts, self._began = {}, now
        key = tuple(re.sub(r"\d+", "#", part or "")[:200] for part in cause)
        times = self._counts[key] = self._counts.get(key, 0) + 1
        if times < SAID:
            return True, ""
        if times == SAID:
            return True, " (for a minute, only the 10th, the 100th, the 1000th … like this is logged)"
        return str(times).strip("0") == "1", f" ({times} like this within a minute)"
