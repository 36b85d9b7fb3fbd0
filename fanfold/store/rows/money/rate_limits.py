"""Rate limits that all workers share: processes lease blocks from rows, each with one statement that refills and takes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.money.rate_limits import (
    LEAST_BURST,
    LEAST_RATE,
    PER_MINUTE,
    UNKNOWN_SIZE,
    Closing,
    Dimension,
    Level,
    LimitRow,
    Refill,
    pace,
    shown_size,
)
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.rows.money.rate_limit_statements import (
    crowd_statement,
    grow_statement,
    hold_statement,
    levels_statement,
    lowered,
    refuse_statement,
    take_statement,
)
from fanfold.store.schema.money.limit_tables import rate_limit_holders as holders
from fanfold.store.schema.money.limit_tables import rate_limits as limits
from fanfold.store.schema.statements import run

HOLD_SECONDS = 15.0
"""The calls in flight of a process stop counting if it has not renewed them for this long."""


class Taken(NamedTuple):
    """What was granted of a bucket, and what is left in it."""

    granted: float
    level: float


class Crowd(NamedTuple):
    """The other processes that use a limit: how many there are, and how many of them have waiting calls."""

    others: int
    waiting: int


class RateLimits:
    """Verbs on rate limits, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def declare(self, key: str, sizes: Mapping[Dimension, float], in_flight: float) -> None:
        """Create the rows of a key. ``sizes`` are the configured limits; ``in_flight`` is the start value for adapting."""
        known = {row.dimension: row for row in self._rows(key)}
        if Dimension.IN_FLIGHT not in known:
            made = self._new(key, Dimension.IN_FLIGHT, in_flight, 0.0, in_flight)
            self.connection.execute(made.on_conflict_do_nothing())
        elif known[Dimension.IN_FLIGHT].burst < in_flight:
            self._start_higher(key, in_flight)
        for dimension in Dimension:
            size, row = sizes.get(dimension), known.get(dimension)
            if size != (row.configured if row else None):
                self._configure(key, dimension, size, row.learned if row else None)

    def _start_higher(self, key: str, in_flight: float) -> None:
        """Raise the start value, so that a process that may make more calls is not held to one that was limited to few."""
        chosen = sa.and_(
            limits.c.key == key, limits.c.dimension == Dimension.IN_FLIGHT.value, limits.c.burst < in_flight
        )
        level = sa.case((limits.c.level < in_flight, in_flight), else_=limits.c.level)
        self.connection.execute(sa.update(limits).where(chosen).values(level=level, burst=in_flight))

    def _configure(self, key: str, dimension: Dimension, size: float | None, learned: float | None) -> None:
        paced = pace(dimension, size or learned or UNKNOWN_SIZE)
        made = self._new(key, dimension, paced.burst, paced.rate, paced.burst, configured=size)
        values: dict[str, Any] = {"configured": size}
        if dimension is not Dimension.IN_FLIGHT:
            level = sa.case((limits.c.level > paced.burst, paced.burst), else_=limits.c.level)
            values |= {"rate": paced.rate, "burst": paced.burst, "level": level}
        self.connection.execute(made.on_conflict_do_update(index_elements=["key", "dimension"], set_=values))

    def _new(self, key: str, dimension: Dimension, level: float, rate: float, burst: float, **more: Any) -> Any:
        values: dict[str, Any] = {
            "key": key,
            "dimension": dimension.value,
            "level": level,
            "rate": rate,
            "burst": burst,
        }
        values |= {"granted": 0.0, "clean": 0, "refusals": 0, "updated_at": self.clock.now, **more}
        return self.clock.dialect.insert(limits).values(**values)

    def take(self, key: str, refill: Refill) -> Taken:
        """Refill a bucket by the time that has passed and take from it, in one statement: whole multiples of ``least``.

        A call that needs more than the bucket ever holds is granted when the bucket is full, and leaves
        a debt. Nothing is granted while the key is closed.
        """
        is_day = refill.dimension is Dimension.REQUESTS_DAY
        values = {"wanted_key": key, "wanted_dimension": refill.dimension.value, "least": float(refill.least)}
        values |= {"wanted": float(refill.wanted), "given_back": float(refill.given_back)}
        rows = run(self.connection, take_statement(self.clock, is_day), values)
        return Taken(*map(float, rows[0])) if rows else Taken(0.0, 0.0)

    def grow(self, key: str, clean: int, ceiling: int) -> Level:
        """Report answers without a refusal, which allow more calls in flight if no limit is known; locks the key."""
        values = {"wanted_key": key, "clean_answers": clean, "ceiling": float(ceiling)}
        row = run(self.connection, grow_statement(self.clock), values)[0]
        left = row[2]
        closed, opened = (max(0.0, left), -left if left <= 0 else None) if left is not None else (0.0, None)
        return Level(Dimension.IN_FLIGHT, row[1], row[0], 0.0, 0.0, closed, opened, row[3])

    def hold(self, key: str, holder: str, busy: int, wanted: int, waiting: int, cap: int) -> int:
        """Lease calls in flight: up to ``wanted`` of the part of ``cap`` that others leave, and at least as many as are
        in flight.

        Runs after ``grow``, whose lock ensures that one process counts at a time.
        """
        values = {"wanted_key": key, "mine": holder, "busy": busy, "wanted": wanted, "waits": waiting, "cap": cap}
        return int(run(self.connection, hold_statement(self.clock, HOLD_SECONDS), values)[0][0])

    def crowd(self, key: str, holder: str) -> Crowd:
        """The other processes that use this limit now."""
        row = run(self.connection, crowd_statement(self.clock), {"wanted_key": key, "mine": holder})[0]
        return Crowd(int(row[0]), int(row[1]))

    def leave(self, key: str, holder: str) -> None:
        """Remove the entry of a process that has no more calls for this key, and the entries of dead processes."""
        gone = sa.or_(holders.c.holder == holder, holders.c.until < self.clock.before(4 * HOLD_SECONDS))
        self.connection.execute(sa.delete(holders).where(holders.c.key == key, gone))

    def levels(self, key: str) -> dict[Dimension, Level]:
        """The current level of each dimension of a key."""
        found: dict[Dimension, Level] = {}
        for name, configured, learned, level, rate, burst, left, by in run(
            self.connection, levels_statement(self.clock), {"wanted_key": key}
        ):
            dimension = Dimension(name)
            closed = max(0.0, left or 0.0)
            if dimension is Dimension.REQUESTS_DAY:
                level, closed = (burst, 0.0) if left is not None and left <= 0 else (level, closed)
            found[dimension] = Level(dimension, configured or learned, level, rate, burst, closed, closed_by=by)
        return found

    def refuse(self, key: str, seconds: float, ago: float, speed: float) -> None:
        """Close a key for all workers. If no limit per minute is known, continue at a lower rate.

        The first such rate is half of ``speed``, the answers per second that all workers received before. Each further refusal
        lowers it, and it grows while there is none. Only a call that was sent (``ago`` seconds before) after the key last
        opened lowers it: calls that were in flight when it closed only repeat the refusal.
        """
        values = {"wanted_key": key, "seconds": float(seconds), "by": Closing.REFUSED.value}
        run(self.connection, refuse_statement(self.clock), values)
        if not any((row.configured or row.learned) and row.dimension in PER_MINUTE for row in self._rows(key)):
            self._lower(key, seconds, ago, speed)

    def _lower(self, key: str, seconds: float, ago: float, speed: float) -> None:
        first = max(LEAST_RATE, speed / 2)
        made = self._new(
            key,
            Dimension.REQUESTS,
            level=1.0,
            rate=first,
            burst=max(LEAST_BURST, first),
            refusals=1,
            closed_until=self.clock.after(seconds),
        )
        self.connection.execute(lowered(self.clock, made, seconds, ago, speed))

    def learn(self, key: str, dimension: Dimension, limit: float, remaining: float | None) -> None:
        """Store a limit that the service reported, unless one is configured, and lower the level to what it says is left."""
        paced = pace(dimension, limit)
        left = paced.burst if remaining is None else max(0.0, remaining)
        made = self._new(key, dimension, min(left, paced.burst), paced.rate, paced.burst, learned=limit)
        is_free = limits.c.configured.is_(None)
        values = {
            "learned": limit,
            "rate": sa.case((is_free, paced.rate), else_=limits.c.rate),
            "burst": sa.case((is_free, paced.burst), else_=limits.c.burst),
            "level": sa.case((limits.c.level > left, left), else_=limits.c.level),
        }
        self.connection.execute(made.on_conflict_do_update(index_elements=["key", "dimension"], set_=values))

    def use_up_day(self, key: str, seconds: float) -> None:
        """Record that the daily quota is used up, for ``seconds``."""
        spent: dict[str, Any] = {
            "level": 0.0,
            "closed_until": self.clock.after(seconds),
            "closed_by": Closing.QUOTA.value,
        }
        made = self._new(key, Dimension.REQUESTS_DAY, rate=0.0, burst=UNKNOWN_SIZE, **spent)
        self.connection.execute(made.on_conflict_do_update(index_elements=["key", "dimension"], set_=spent))

    def close(self, key: str, seconds: float) -> bool:
        """Close a key for all workers, at a person's request; False if there is no such key."""
        shut = {"closed_until": self.clock.after(seconds), "closed_by": Closing.PERSON.value}
        return self._changed(key, Dimension.IN_FLIGHT, shut)

    def open(self, key: str) -> bool:
        """Open a key at a person's request, even with a used-up daily quota; False if there is no such key."""
        day = {"level": limits.c.burst, "closed_until": None, "closed_by": None}
        self._changed(key, Dimension.REQUESTS_DAY, day)
        return self._changed(key, Dimension.IN_FLIGHT, {"closed_until": self.clock.now, "closed_by": None})

    def _changed(self, key: str, dimension: Dimension, values: Mapping[str, Any]) -> bool:
        chosen = sa.and_(limits.c.key == key, limits.c.dimension == dimension.value)
        return self.connection.execute(sa.update(limits).where(chosen).values(**values)).rowcount == 1

    def all(self) -> list[LimitRow]:
        """Every limit as it is now, with its waiting calls."""
        now = self.connection.execute(sa.select(self.clock.now)).scalar_one()
        using: dict[str, list[Any]] = {}
        for row in self.connection.execute(sa.select(holders).where(holders.c.until > self.clock.now)):
            using.setdefault(row.key, []).append(row)
        since = self.clock.seconds_since(limits.c.updated_at).label("since")
        rows = self.connection.execute(sa.select(limits, since).order_by(limits.c.key, limits.c.dimension))
        return [_seen(row, now, using.get(row.key, [])) for row in rows]

    def _rows(self, key: str) -> list[Any]:
        found = self.connection.execute(sa.select(limits).where(limits.c.key == key))
        return list(found)


def _seen(row: Any, now: datetime, using: list[Any]) -> LimitRow:
    level = min(row.burst, row.level + row.rate * max(0.0, row.since)) if row.rate else row.level
    closed = row.closed_until if row.closed_until is not None and row.closed_until > now else None
    if row.dimension == Dimension.REQUESTS_DAY:
        level = row.burst if closed is None and row.closed_until is not None else level
        closed = closed if level < 1 else None
    size = row.configured if row.configured is not None else row.learned
    source = "configured" if row.configured is not None else "learned" if row.learned is not None else "adaptive"
    if row.dimension == Dimension.REQUESTS and size is None:
        size = shown_size(row.rate)
    if row.dimension == Dimension.REQUESTS:
        closed = None  # In this row the time only says when the rate was last lowered.
    if row.dimension == Dimension.IN_FLIGHT and row.configured is not None:
        level = row.configured
    return LimitRow(
        key=row.key,
        dimension=row.dimension,
        size=size,
        source=source,
        level=level,
        closed_until=closed,
        closed_by=row.closed_by if closed else None,
        refusals=row.refusals,
        in_flight=sum(one.held for one in using),
        waiting=sum(one.waiting for one in using),
        waiters=tuple(sorted(one.holder for one in using if one.waiting)),
    )
