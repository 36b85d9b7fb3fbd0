"""Rate limits as values: the dimensions of a limit, its pace, and its public view."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

WINDOW_SECONDS = 60.0
"""Window of the limits per minute."""
DAY_SECONDS = 86_400.0
UNKNOWN_SIZE = 1e9
"""Stands for a limit that is not known any more."""
BLOCK_SECONDS = 1.0
"""How long a process may use a leased block."""
RAMP_PER_SECOND = 4.0
"""After a limit opens again it allows one call in flight, and this many more with each second."""

LEAST_RATE = 1.0
"""Requests per second below which the search for an unknown rate does not go: below it, the growing pauses are enough."""
LEAST_BURST = 1.5
SOON_SECONDS = 5.0
LOWERED_SOON, LOWERED_LATE = 0.5, 0.75
"""What is left of a rate found by trying after a refusal: half if it comes within SOON_SECONDS after the last one."""
FIRST_GROWTH, GROWTH, MOST_GROWTH = 0.005, 0.0008, 0.1
"""Growth of such a rate: share per second, for each second since it was last lowered; faster before the second refusal."""
GROWN_SECONDS = 2.0
"""Longest pause between two leases that counts as time in which the rate was in use."""


class Dimension(StrEnum):
    """What a limit counts."""

    REQUESTS = "requests"
    TOKENS = "tokens"
    """Input and output together, as services with OpenAI's protocol count them."""
    INPUT_TOKENS = "input_tokens"
    OUTPUT_TOKENS = "output_tokens"
    REQUESTS_DAY = "requests_day"
    IN_FLIGHT = "in_flight"
    """Calls in flight in all processes. Every key has this row, which also says until when the key is closed."""


PER_MINUTE = (Dimension.REQUESTS, Dimension.TOKENS, Dimension.INPUT_TOKENS, Dimension.OUTPUT_TOKENS)
RATED = (*PER_MINUTE, Dimension.REQUESTS_DAY)
"""The dimensions that are leased in blocks."""


class Closing(StrEnum):
    """Why a limit is closed."""

    REFUSED = "refused"
    """The service asked to wait (429)."""
    QUOTA = "quota"
    """The daily quota is used up."""
    PERSON = "person"
    """A person closed it."""


@dataclass(frozen=True)
class FillRate:
    """How a bucket fills: units per second, and its capacity."""

    rate: float
    burst: float


def pace(dimension: Dimension, size: float) -> FillRate:
    """The pace that uses at most ``size`` in any window, wherever it begins, and nearly all of it.

    What is used in a window was leased in the window or up to BLOCK_SECONDS before it, so ``burst + rate × (window + block)``
    must stay within the size. Requests are whole numbers, so it may come close to one more.
    """
    if dimension is Dimension.REQUESTS_DAY:
        return FillRate(0.0, size)
    counts_whole = dimension is Dimension.REQUESTS
    least = 1.0 + min(0.5, max(0.0, size - 1.0) / 20) if counts_whole else 0.0
    burst = max(least, size / WINDOW_SECONDS)
    room = (size + 1.0) * (1 - 1e-9) if counts_whole else size
    return FillRate((room - burst) / (WINDOW_SECONDS + BLOCK_SECONDS), burst)


def shown_size(rate: float) -> float | None:
    """A rate found by trying, per minute; None where there is none."""
    per_minute = rate * WINDOW_SECONDS
    return float(f"{per_minute:.3g}") if 0 < per_minute < UNKNOWN_SIZE / 2 else None


@dataclass(frozen=True)
class Refill:
    """What a process requests of one dimension: between ``least`` and ``wanted`` units, or nothing; and what it returns."""

    dimension: Dimension
    least: float
    wanted: float
    given_back: float = 0.0


@dataclass(frozen=True)
class Level:
    """One dimension of a limit as stored."""

    dimension: Dimension
    size: float | None
    """The limit: per minute, per day, or in flight; None if unknown."""
    level: float
    rate: float
    burst: float
    closed_seconds: float
    """How long it stays closed, or until a used-up daily quota is renewed; 0 if it is open."""
    opened_seconds: float | None = None
    """How long ago it opened again; None if it was never closed."""
    closed_by: str | None = None


@dataclass(frozen=True)
class LimitRow:
    """One dimension of the limit of an account and model, as people see it."""

    key: str
    dimension: str
    size: float | None
    source: str
    """`configured`, `learned` from the service, or `adaptive`: found by trial."""
    level: float
    """What is left now; for `in_flight`, the number of calls that may be in flight."""
    closed_until: datetime | None
    closed_by: str | None
    refusals: int
    in_flight: int
    """Calls that processes may have in flight now."""
    waiting: int
    """Waiting calls in all processes."""
    waiters: tuple[str, ...]
    """Processes with waiting calls."""

    @property
    def has_calls(self) -> bool:
        """Whether this is the row that counts the calls of its key."""
        return self.dimension == Dimension.IN_FLIGHT
