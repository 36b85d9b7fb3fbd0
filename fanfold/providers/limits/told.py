"""Reads what services report about their limits: in headers, in the body of a refusal, or in its message."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from fanfold.model.money.rate_limits import DAY_SECONDS, WINDOW_SECONDS, Dimension

OPENAI_NAMES = {"requests": Dimension.REQUESTS, "tokens": Dimension.TOKENS}
ANTHROPIC_NAMES = {
    "requests": Dimension.REQUESTS,
    "tokens": Dimension.TOKENS,
    "input-tokens": Dimension.INPUT_TOKENS,
    "output-tokens": Dimension.OUTPUT_TOKENS,
}
UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|d|h|m|s)")
IN_WORDS = re.compile(r"(?:try|retry)(?: again)? (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|d|h|m|s))+)", re.IGNORECASE)
PER_DAY = re.compile(r"per[ _-]?day|daily|\b[RT]PD\b", re.IGNORECASE)
THROTTLED = re.compile(r"too many requests|rate.?limit|throttl|slow down|request limit", re.IGNORECASE)
DAY_FROM = 6 * 3_600.0
"""A limit that takes at least this long to refill is a daily one, even if its header does not say so."""
DEEPEST = 6
"""How many levels of a body are searched for a delay."""


@dataclass(frozen=True)
class ToldLimit:
    """A limit that a service reported with a reply."""

    dimension: Dimension
    limit: float
    remaining: float | None = None
    reset_seconds: float | None = None


def told_in(headers: Any, now: datetime | None = None) -> tuple[ToldLimit, ...]:
    """The limits in the headers of a reply; empty if there are none, or none that make sense."""
    found = []
    for dimension, limit, remaining, reset in _named(headers):
        size, left = _number(limit), _number(remaining)
        if size is not None and size >= 1:
            seconds = seconds_of(reset, now or datetime.now(UTC))
            found.append(_judged(ToldLimit(dimension, size, left, seconds)))
    return tuple(found)


def _named(headers: Any) -> Iterator[tuple[Dimension, str | None, str | None, str | None]]:
    for name, dimension in OPENAI_NAMES.items():
        fields = (headers.get(f"x-ratelimit-{part}-{name}") for part in ("limit", "remaining", "reset"))
        yield dimension, *fields
    for name, dimension in ANTHROPIC_NAMES.items():
        fields = (headers.get(f"anthropic-ratelimit-{name}-{part}") for part in ("limit", "remaining", "reset"))
        yield dimension, *fields


def _judged(told: ToldLimit) -> ToldLimit:
    """Detect a daily limit by its time to reset: some services (Groq) report requests per day as plain requests."""
    used = told.limit - told.remaining if told.remaining is not None else 0.0
    if told.dimension is not Dimension.REQUESTS or used <= 0 or (told.reset_seconds or 0.0) <= 1.5 * WINDOW_SECONDS:
        return told
    fills_in = (told.reset_seconds or 0.0) * told.limit / used
    if fills_in < DAY_FROM:
        return told
    return ToldLimit(Dimension.REQUESTS_DAY, told.limit, told.remaining, told.reset_seconds)


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and math.isfinite(value) else None


def seconds_of(text: str | None, now: datetime) -> float | None:
    """Seconds until a reset, which is a duration (`6m0s`, `12ms`), a plain number of seconds, or a time (RFC 3339)."""
    if not text:
        return None
    if (plain := _number(text)) is not None:
        return max(0.0, plain)
    if (seconds := duration(text)) is not None:
        return seconds
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())


def duration(text: str) -> float | None:
    """Seconds in a duration like `1h2m3.5s`; None if the text is something else."""
    parts = PART.findall(text.strip())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    return sum(float(number) * UNITS[unit] for number, unit in parts)


def delay_in(body: Any, said: str = "") -> float | None:
    """The wait that the body of a refusal asks for: Gemini's `retryDelay`, a `retry_after`, or the words of the message."""
    for value in _values(body, ("retryDelay", "retry_after", "retry_delay"), 0):
        found = _number(str(value))
        seconds = found if found is not None else duration(str(value))
        if seconds is not None and seconds >= 0:
            return seconds
    words = IN_WORDS.search(said)
    return duration(words[1].lower()) if words else None


def _values(body: Any, names: tuple[str, ...], depth: int) -> Iterator[Any]:
    if depth > DEEPEST:
        return
    if isinstance(body, Mapping):
        for name, value in body.items():
            if name in names:
                yield value
            else:
                yield from _values(value, names, depth + 1)
    elif isinstance(body, list):
        for value in body[:20]:
            yield from _values(value, names, depth + 1)


def is_daily(body: Any, said: str = "") -> bool:
    """Whether a refusal is about a daily quota, so that waiting for a minute does not help."""
    ids = " ".join(str(value) for value in _values(body, ("quotaId", "quotaMetric", "quota_limit", "code", "type"), 0))
    return PER_DAY.search(f"{ids} {said}") is not None


def is_throttling(said: str) -> bool:
    """Whether the message of an error without a status says that there were too many requests."""
    return THROTTLED.search(said) is not None


def until_tomorrow(now: datetime | None = None) -> float:
    """Seconds until midnight (UTC), for a daily quota if the service does not say when it is renewed."""
    moment = now or datetime.now(UTC)
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(seconds=DAY_SECONDS)
    return max(60.0, (midnight - moment).total_seconds())
