"""The statements behind rate limits, each built once per clock."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from fanfold.model.money.rate_limits import (
    DAY_SECONDS,
    FIRST_GROWTH,
    GROWN_SECONDS,
    GROWTH,
    LEAST_BURST,
    LEAST_RATE,
    LOWERED_LATE,
    LOWERED_SOON,
    MOST_GROWTH,
    SOON_SECONDS,
    Dimension,
)
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.money.limit_tables import rate_limit_holders as holders
from fanfold.store.schema.money.limit_tables import rate_limits as limits

KEY = sa.bindparam("wanted_key", type_=sa.String())
IN_FLIGHT_ROW = sa.and_(limits.c.key == KEY, limits.c.dimension == sa.literal_column(f"'{Dimension.IN_FLIGHT}'"))


def _number(name: str) -> sa.BindParameter[float]:
    return sa.bindparam(name, type_=sa.Float())


def _smaller(one: Any, other: Any) -> sa.ColumnElement[float]:
    return sa.case((one < other, one), else_=other)


def _larger(one: Any, other: Any) -> sa.ColumnElement[float]:
    return sa.case((one > other, one), else_=other)


@lru_cache(maxsize=32)
def take_statement(clock: SqlClock, is_day: bool) -> sa.Update:
    """Refill and take, in one UPDATE, so that concurrent statements see each other's result."""
    given_back, least, wanted = _number("given_back"), _number("least"), _number("wanted")
    zero = sa.literal_column("0.0", sa.Float())
    grown: sa.ColumnElement[float]
    if is_day:
        is_new = sa.or_(limits.c.closed_until.is_(None), limits.c.closed_until <= clock.now)
        grown = sa.case((is_new, limits.c.burst), else_=limits.c.level + given_back)
        ends = {"closed_until": sa.case((is_new, clock.after(DAY_SECONDS)), else_=limits.c.closed_until)}
    else:
        # A clock that was set back must not reduce the level.
        passed = _larger(clock.seconds_since(limits.c.updated_at), zero)
        grown, ends = limits.c.level + limits.c.rate * passed + given_back, {}
    full = _smaller(grown, limits.c.burst)
    if not is_day:
        ends = _sought(clock, passed, is_short=full < wanted)
    other = limits.alias("of_key")
    shut = sa.exists().where(
        other.c.key == KEY,
        other.c.dimension == sa.literal_column(f"'{Dimension.IN_FLIGHT}'"),
        other.c.closed_until > clock.now,
    )
    is_enough = sa.and_(~shut, full >= _smaller(least, limits.c.burst))
    # Grant whole multiples of a call's need, because the rest of a block would be lost.
    whole = clock.dialect.whole(_smaller(wanted, full) / sa.func.nullif(least, zero)) * least
    granted = sa.case((least <= zero, zero), (is_enough, _larger(least, whole)), else_=zero)
    chosen = sa.and_(limits.c.key == KEY, limits.c.dimension == sa.bindparam("wanted_dimension", type_=sa.String()))
    taken = sa.update(limits).where(chosen).values(level=full - granted, granted=granted, updated_at=clock.now, **ends)
    return taken.returning(limits.c.granted, limits.c.level)


def _sought(clock: SqlClock, passed: Any, is_short: Any) -> dict[str, Any]:
    """Raise a rate that is found by trying, if calls want more than it gives: faster, the longer no call was refused."""
    zero = sa.literal_column("0.0", sa.Float())
    is_sought = sa.and_(limits.c.configured.is_(None), limits.c.learned.is_(None), limits.c.closed_until.is_not(None))
    since = _larger(clock.seconds_since(limits.c.closed_until), zero)
    slope = sa.case((limits.c.refusals <= 1, FIRST_GROWTH), else_=GROWTH)
    more = limits.c.rate * (1 + _smaller(slope * since, sa.literal(MOST_GROWTH)) * _smaller(passed, GROWN_SECONDS))
    grows = sa.and_(is_sought, is_short)
    burst = sa.case((grows, _larger(more, sa.literal(LEAST_BURST))), else_=limits.c.burst)
    return {"rate": sa.case((grows, more), else_=limits.c.rate), "burst": burst}


def lowered(clock: SqlClock, made: Any, seconds: float, ago: float, speed: float) -> Any:
    """Insert a rate to be found by trying, or lower it if it exists and the refused call was sent after the key last opened."""
    is_new = sa.or_(limits.c.closed_until.is_(None), limits.c.closed_until <= clock.before(ago))
    is_soon = clock.seconds_since(limits.c.closed_until) < SOON_SECONDS
    left = sa.case((is_soon, LOWERED_SOON), else_=LOWERED_LATE)
    # Other programs may use the key too. Then calls were refused below our rate: lower it from at most twice the speed.
    rate = _larger(_smaller(limits.c.rate, sa.literal(2 * speed)) * left, sa.literal(LEAST_RATE))
    values = {"rate": rate, "burst": _larger(rate, sa.literal(LEAST_BURST)), "level": 1.0, "updated_at": clock.now}
    values |= {"refusals": limits.c.refusals + 1, "closed_until": clock.after(seconds)}
    return made.on_conflict_do_update(index_elements=["key", "dimension"], set_=values, where=is_new)


@lru_cache(maxsize=16)
def grow_statement(clock: SqlClock) -> sa.Update:
    """Allow one more call in flight after as many successful answers as there may be calls in flight."""
    clean = limits.c.clean + sa.bindparam("clean_answers", type_=sa.Integer())
    is_window = clean >= limits.c.level
    more = sa.case(
        (sa.and_(is_window, limits.c.level + 1 <= _number("ceiling")), limits.c.level + 1), else_=limits.c.level
    )
    grown = sa.update(limits).where(IN_FLIGHT_ROW)
    grown = grown.values(level=more, clean=sa.case((is_window, sa.literal_column("0")), else_=clean))
    left = -clock.seconds_since(limits.c.closed_until)
    return grown.returning(limits.c.level, limits.c.configured, left, limits.c.closed_by)


@lru_cache(maxsize=16)
def hold_statement(clock: SqlClock, seconds: float) -> sa.Insert:
    """Calls in flight for one process: what it wants, limited to what the other processes leave."""
    mine, busy = sa.bindparam("mine", type_=sa.String()), sa.bindparam("busy", type_=sa.Integer())
    wanted, cap = sa.bindparam("wanted", type_=sa.Integer()), sa.bindparam("cap", type_=sa.Integer())
    others = sa.select(sa.func.coalesce(sa.func.sum(holders.c.held), 0)).where(
        holders.c.key == KEY, holders.c.holder != mine, holders.c.until > clock.now
    )
    room = cap - sa.cast(others.scalar_subquery(), sa.Integer())
    held = sa.case((room >= wanted, wanted), (room > busy, room), else_=busy)
    new = clock.dialect.insert(holders).values(
        key=KEY, holder=mine, held=held, waiting=sa.bindparam("waits", type_=sa.Integer()), until=clock.after(seconds)
    )
    kept = {name: new.excluded[name] for name in ("held", "waiting", "until")}
    return new.on_conflict_do_update(index_elements=["key", "holder"], set_=kept).returning(holders.c.held)


@lru_cache(maxsize=16)
def crowd_statement(clock: SqlClock) -> sa.Select[Any]:
    """How many other processes use a key, and how many of them have waiting calls."""
    waits = sa.case((holders.c.waiting > 0, 1), else_=0)
    chosen = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(waits), 0)).select_from(holders)
    mine = sa.bindparam("mine", type_=sa.String())
    return chosen.where(holders.c.key == KEY, holders.c.holder != mine, holders.c.until > clock.now)


@lru_cache(maxsize=16)
def levels_statement(clock: SqlClock) -> sa.Select[Any]:
    """Every dimension of a key, refilled to now."""
    passed = _larger(clock.seconds_since(limits.c.updated_at), sa.literal_column("0.0", sa.Float()))
    level = _smaller(limits.c.level + limits.c.rate * passed, limits.c.burst)
    columns = (limits.c.dimension, limits.c.configured, limits.c.learned, level, limits.c.rate, limits.c.burst)
    left = -clock.seconds_since(limits.c.closed_until)
    return sa.select(*columns, left, limits.c.closed_by).where(limits.c.key == KEY)


@lru_cache(maxsize=16)
def refuse_statement(clock: SqlClock) -> sa.Update:
    """Close a key for at least the given seconds from now."""
    until = clock.after(_number("seconds"))
    is_longer = sa.or_(limits.c.closed_until.is_(None), limits.c.closed_until < until)
    return (
        sa.update(limits)
        .where(IN_FLIGHT_ROW)
        .values(
            clean=0,
            refusals=limits.c.refusals + 1,
            closed_until=sa.case((is_longer, until), else_=limits.c.closed_until),
            closed_by=sa.case((is_longer, sa.bindparam("by", type_=sa.String())), else_=limits.c.closed_by),
        )
    )
