"""Formats times for people, the same way everywhere: with the time zone, and with the date unless it is today."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo


def told_at(moment: datetime, now: datetime | None, *, seconds: bool = False, zone: tzinfo | None = UTC) -> str:
    """A time in a sentence or table: `14:02 UTC`, or `2030-01-01 14:02 UTC` if ``now`` is on another day or unknown.

    ``zone`` None means this machine's time zone.
    """
    there = moment.astimezone(zone)
    is_today = now is not None and now.astimezone(zone).date() == there.date()
    day = "" if is_today else f"{there:%Y-%m-%d} "
    clock = f"{there:%H:%M:%S}" if seconds else f"{there:%H:%M}"
    return f"{day}{clock} {there:%Z}"
