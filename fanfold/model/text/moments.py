"""How is a time told to people? In one way everywhere: with its time zone, and with the date unless it is today."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo


def told_at(moment: datetime, now: datetime | None, *, seconds: bool = False, zone: tzinfo | None = UTC) -> str:
    """A time in a sentence or table: `14:02 UTC`, or `2030-01-01 14:02 UTC` when ``now`` is on another day or not known.

    A ``zone`` of None is the one of this machine.
    """
    there = moment.astimezone(zone)
    is_today = now is not None and now.astimezone(zone).date() == there.date()
    day = "" if is_today else f"{there:%Y-%m-%d} "
    clock = f"{there:%H:%M:%S}" if seconds else f"{there:%H:%M}"
    return f"{day}{clock} {there:%Z}"
