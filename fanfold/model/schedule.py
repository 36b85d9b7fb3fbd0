"""Schedules: due times by cron expression and time zone, and what happens when runs overlap or were missed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say

CRON_LENGTH = 200
ON_TIME_SECONDS = 120.0
"""A run that is late by no more than this is on time, and is made whatever `catch_up` says."""
MOST_CAUGHT_UP = 50
"""Missed runs that one sweep makes up for with `all`; the next sweep continues."""


class Overlap(StrEnum):
    """What happens to a run that is due while a task of the same schedule is unfinished."""

    SKIP = "skip"
    QUEUE = "queue"
    ALLOW = "allow"


class CatchUp(StrEnum):
    """What happens to runs that were due while nobody was there."""

    NONE = "none"
    ONE = "one"
    ALL = "all"


class RunOutcome(StrEnum):
    """What became of a due time."""

    SUBMITTED = "submitted"
    SKIPPED = "skipped"
    MISSED = "missed"
    FAILED = "failed"


@dataclass(frozen=True)
class ScheduleRun:
    """A due time of a schedule that was dealt with."""

    due_at: datetime
    outcome: RunOutcome
    task: str | None
    """The id of its task; the task may have been deleted since."""
    reason: str | None
    actor: str
    at: datetime
    sentences: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Schedule:
    """A schedule as people see it."""

    name: str
    cron: str
    zone: str
    pipeline: str
    owner: str
    overlap: Overlap
    catch_up: CatchUp
    paused: bool
    next_at: datetime | None
    queued_at: datetime | None
    """The due time of a run that waits for the one before it to end."""
    actor: str
    created_at: datetime
    title: str | None
    options: dict[str, Any]
    inputs: tuple[Any, ...]
    tags: tuple[str, ...]
    priority: int
    runs: tuple[ScheduleRun, ...] = ()
    """The latest runs, newest first."""
    budget: float | None = None
    """What the calls of each task to models may cost, in US dollars."""


def zone_of(name: str) -> ZoneInfo:
    """The IANA time zone with this name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadInput(say("no_time_zone", zone=str(name)[:100]), code="bad_time_zone") from None


def due_times(cron: str, zone: str, after: datetime) -> Iterator[datetime]:
    """The due times after a moment, in UTC.

    They are times on the wall clock of the zone. With five fields and a fixed minute and hour, a time that the change to summer
    time skips is due right after the gap, and one that comes twice in autumn is due once. If the minute or the hour begins with
    `*`, or there are six fields, every match counts: twice in autumn, and not at all in the gap.
    """
    from cronsim import CronSim, CronSimError

    local = after.astimezone(zone_of(zone))
    try:
        times = CronSim(cron, local)
    except CronSimError as problem:
        raise BadInput(say("bad_cron", cron=str(cron)[:CRON_LENGTH], why=str(problem)), code="bad_cron") from None
    return (moment.astimezone(UTC) for moment in times)


def checked_cron(cron: str, zone: str, now: datetime) -> datetime:
    """The first due time of an expression; BadInput if it is not one, or never due."""
    if not 0 < len(str(cron)) <= CRON_LENGTH:
        raise BadInput(say("bad_cron", cron=str(cron)[:CRON_LENGTH], why="Wrong length"), code="bad_cron")
    found = next(due_times(cron, zone, now), None)
    if found is None:
        raise BadInput(say("cron_never", cron=cron), code="bad_cron")
    return found


@dataclass(frozen=True)
class DueNow:
    """What to do about a schedule now."""

    missed: datetime | None
    """The first due time that is not made up for; None if there is none."""
    runs: tuple[datetime, ...]
    """Due times to run, oldest first."""
    following: datetime | None
    """The next due time after these."""


def due_now(cron: str, zone: str, catch_up: CatchUp, next_at: datetime, now: datetime) -> DueNow:
    """Which due times from ``next_at`` on are run now, which were missed, and when it is due next."""
    if catch_up is CatchUp.ALL:
        times = [next_at, *islice(due_times(cron, zone, next_at), MOST_CAUGHT_UP)]
        runs = tuple(moment for moment in times[:MOST_CAUGHT_UP] if moment <= now)
        return DueNow(None, runs, next(iter(times[len(runs) :]), None))
    last = max(next_at, _last_until(cron, zone, now))
    following = next(due_times(cron, zone, max(last, now)), None)
    if catch_up is CatchUp.NONE and (now - last).total_seconds() > ON_TIME_SECONDS:
        return DueNow(next_at, (), following)
    return DueNow(None if last == next_at else next_at, (last,), following)


def _last_until(cron: str, zone: str, now: datetime) -> datetime:
    """The last due time that has come. A gap of months is not walked through minute by minute."""
    from cronsim import CronSim

    backwards = CronSim(cron, (now + timedelta(seconds=1)).astimezone(zone_of(zone)), reverse=True)
    return next(moment for one in backwards if (moment := one.astimezone(UTC)) <= now)
