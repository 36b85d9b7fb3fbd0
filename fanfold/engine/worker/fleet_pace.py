"""How often a worker asks the database, given how many workers there are. Few workers ask at once; in a large fleet they share.

The statements of idle workers and the wake-ups after a notification grow with the number of workers, while the work does not.
So the whole fleet has a budget per second, of which each worker takes its share at random moments. A hint is only a hint:
whatever it announces is found by the next poll at the latest.
"""

from __future__ import annotations

import random
import time

SMALL_FLEET = 50
"""Up to this many workers, each follows every hint at once."""
POLLS_PER_SECOND = 100.0
"""Polls of all idle workers together. One of them sees new work within 10 ms, even without notifications."""
LONGEST_POLL_SECONDS = 30.0
FOLLOWS_PER_SECOND = 500.0
"""Polls of all workers together because of hints and due times."""
LISTENERS = 200
"""Workers that listen for notifications. Each of them costs the server about 45 µs per notification."""
CHECKS_PER_SECOND = 2_000.0
"""Checks of all busy workers together whether their items are still wanted."""
COUNT_SECONDS, COUNTS_PER_SECOND = 20.0, 50.0
"""How often a worker counts the others: at this interval, but less often in large fleets, because a count reads all of them."""


class FleetPace:
    """The pace of one worker; ``workers`` may be set by any thread."""

    def __init__(self) -> None:
        self.workers = 1
        """Live workers, as of the last count."""
        self._lot = random.random()
        self._followed_at = -1e9
        self._counted_at = -1e9

    @property
    def is_large(self) -> bool:
        """Whether there are more workers than can do everything at once."""
        return self.workers > SMALL_FLEET

    @property
    def listens(self) -> bool:
        """Whether this worker is one of those that listen."""
        return self.workers <= LISTENERS or self._lot < LISTENERS / self.workers

    def must_count(self) -> bool:
        """Whether it is time to count the workers again."""
        return time.monotonic() - self._counted_at >= max(COUNT_SECONDS, self.workers / COUNTS_PER_SECOND)

    def counted(self, workers: int) -> None:
        """Note how many workers there are."""
        self._counted_at = time.monotonic()
        self.workers = workers

    def poll_seconds(self, usual: float) -> float:
        """How long an idle worker waits for its next poll."""
        if not self.is_large:
            return usual
        shared = min(LONGEST_POLL_SECONDS, self.workers / POLLS_PER_SECOND)
        return max(usual, shared) * random.uniform(0.75, 1.25)

    def check_seconds(self, longest: float) -> float:
        """Shortest time between two checks of a busy worker whether its items are still wanted."""
        return min(longest, self.workers / CHECKS_PER_SECOND) if self.is_large else 0.0

    def seconds_to_follow(self) -> float:
        """How long to wait before a hint is followed: some follow at once, the others one after the other."""
        now = time.monotonic()
        if not self.is_large:
            return 0.0
        span = min(LONGEST_POLL_SECONDS, self.workers / FOLLOWS_PER_SECOND)
        if now - self._followed_at >= span and random.random() < SMALL_FLEET / self.workers:
            self._followed_at = now
            return 0.0
        return random.uniform(0.0, span)

    def seconds_after_due(self) -> float:
        """How long after a due time this worker polls: all of them know of it."""
        if not self.is_large or random.random() < SMALL_FLEET / self.workers:
            return 0.0
        return random.uniform(0.0, min(LONGEST_POLL_SECONDS, self.workers / FOLLOWS_PER_SECOND))
