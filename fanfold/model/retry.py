"""Retry rules: exponential back-off with jitter, as a value."""

from __future__ import annotations

import random
from dataclasses import dataclass

from fanfold.errors import BadPipeline

MOST_RETRIES = 32_766
"""Largest retry limit that the narrow columns of an item can count."""


@dataclass(frozen=True)
class Retry:
    """How often a failed item is retried, and how long it waits before that.

    ``limit`` counts retries: with 3, a handler runs at most four times. The n-th wait is ``first * factor ** (n - 1)``
    seconds, at most ``cap``, of which the share ``jitter`` is random, so that many items failing at once come back spread out.
    """

    limit: int = 3
    first: float = 1.0
    factor: float = 2.0
    cap: float = 300.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        if self.limit < 0 or self.first < 0 or self.factor < 1 or self.cap < 0 or not 0 <= self.jitter <= 1:
            raise BadPipeline(
                f"{self} is not valid: limit, first and cap must be at least 0, factor at least 1, jitter from 0 to 1."
            )

        if self.limit > MOST_RETRIES:
            raise BadPipeline(f"The retry limit is {self.limit}; it must be at most {MOST_RETRIES}.")

    def delay(self, failures: int, luck: float | None = None) -> float:
        """Seconds to wait after the given number of failures; ``luck`` (0 to 1) replaces the random number in tests."""
        whole = min(self.cap, self.first * self.factor ** min(max(0, failures - 1), 64))
        dice = random.random() if luck is None else luck
        return whole * (1 - self.jitter * dice)


NO_RETRY = Retry(limit=0)
