"""Rate limits as values: the dimensions of a limit, its pace, and what people see of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

WINDOW_SECONDS = 60.0
"""The window of the limits per minute."""
DAY_SECONDS = 86_400.0
BLOCK_SECONDS = 1.0
"""How long a process may use a block that it has leased."""
RAMP_PER_SECOND = 4.0
"""A limit that opens again allows one call in flight, and this many more with each second."""


class Dimension(StrEnum):
    """What a limit counts."""

    REQUESTS = "requests"
    TOKENS = "tokens"
    """Input and output together, as services with OpenAI's protocol count them."""
    INPUT_TOKENS = "input_tokens"
    OUTPUT_TOKENS = "output_tokens"
    REQUESTS_DAY = "requests_day"
    IN_FLIGHT = "in_flight"
    """Calls under way in all processes. Every key has this row, which also says until when the key is closed."""


PER_MINUTE = (Dimension.REQUESTS, Dimension.TOKENS, Dimension.INPUT_TOKENS, Dimension.OUTPUT_TOKENS)
RATED = (*PER_MINUTE, Dimension.REQUESTS_DAY)
"""The dimensions that are leased in blocks."""


class Closing(StrEnum):
    """Why a limit is closed."""

    REFUSED = "refused"
    """The service asked to wait (429)."""
    QUOTA = "quota"
    """The day's quota is used up."""
    PERSON = "person"
    """A person closed it."""


@dataclass(frozen=True)
class Pace:
    """How a bucket fills: units per second, and the most it holds."""

    rate: float
    burst: float


def pace(dimension: Dimension, size: float) -> Pace:
    """The pace that never uses more than ``size`` in any window, wherever it begins, and nearly all of it.

    What is used in a window was leased in the window or up to BLOCK_SECONDS before it, so
    ``burst + rate × (window + block)`` must stay within the size. Requests are whole: it may come close to one more.
    """
    if dimension is Dimension.REQUESTS_DAY:
        return Pace(0.0, size)
    counts_whole = dimension is Dimension.REQUESTS
    least = 1.0 + min(0.5, max(0.0, size - 1.0) / 20) if counts_whole else 0.0
    burst = max(least, size / WINDOW_SECONDS)
    room = (size + 1.0) * (1 - 1e-9) if counts_whole else size
    return Pace((room - burst) / (WINDOW_SECONDS + BLOCK_SECONDS), burst)


@dataclass(frozen=True)
class Refill:
    """What a process wants of one dimension: at least ``least`` or nothing, up to ``wanted``; and what it gives back."""

    dimension: Dimension
    least: float
    wanted: float
    given_back: float = 0.0


@dataclass(frozen=True)
class Level:
    """One dimension of a limit as the database has it."""

    dimension: Dimension
    size: float | None
    """The limit: per minute, per day, or in flight; None where it is not known."""
    level: float
    rate: float
    burst: float
    closed_seconds: float
    """How long it stays closed, or until a used-up day ends; 0 when it is open."""
    opened_seconds: float | None = None
    """How long ago it opened again; None when it was never closed."""
    closed_by: str | None = None


@dataclass(frozen=True)
class LimitRow:
    """One dimension of the limit of an account and model, as people see it."""

    key: str
    dimension: str
    size: float | None
    source: str
    """`configured`, `learned` from the service, or `adaptive`: found by trying."""
    level: float
    """What is left now; of `in_flight`, the number of calls that may be under way."""
    closed_until: datetime | None
    closed_by: str | None
    refusals: int
    in_flight: int
    """Calls that processes may have under way now."""
    waiting: int
    """Calls that wait in all processes."""
    waiters: tuple[str, ...]
    """The processes in which they wait."""

    @property
    def has_calls(self) -> bool:
        """Whether this is the row that counts the calls of its key."""
        return self.dimension == Dimension.IN_FLIGHT
