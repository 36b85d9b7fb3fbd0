"""The statements behind rate limits, each built once for a clock."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from fanfold.model.rate_limits import DAY_SECONDS, Dimension
from fanfold.store.dialects.clock import Clock
from fanfold.store.schema.rate_limits import rate_limit_holders as holders
from fanfold.store.schema.rate_limits import rate_limits as limits

KEY = sa.bindparam("wanted_key", type_=sa.String())
IN_FLIGHT_ROW = sa.and_(limits.c.key == KEY, limits.c.dimension == sa.literal_column(f"'{Dimension.IN_FLIGHT}'"))


def _number(name: str) -> sa.BindParameter[float]:
    return sa.bindparam(name, type_=sa.Float())


def _smaller(one: Any, other: Any) -> sa.ColumnElement[float]:
    return sa.case((one < other, one), else_=other)


def _larger(one: Any, other: Any) -> sa.ColumnElement[float]:
    return sa.case((one > other, one), else_=other)


@lru_cache(maxsize=32)
def take_statement(clock: Clock, is_day: bool) -> sa.Update:
    """Refill and take, in one UPDATE: two that run at once each see what the other has left."""
    given_back, least, wanted = _number("given_back"), _number("least"), _number("wanted")
    zero = sa.literal_column("0.0", sa.Float())
    grown: sa.ColumnElement[float]
    if is_day:
        is_new = sa.or_(limits.c.closed_until.is_(None), limits.c.closed_until <= clock.now)
        grown = sa.case((is_new, limits.c.burst), else_=limits.c.level + given_back)
        ends = {"closed_until": sa.case((is_new, clock.after(DAY_SECONDS)), else_=limits.c.closed_until)}
    else:
        # A clock that is set back must not take away what was there.
        passed = _larger(clock.seconds_since(limits.c.updated_at), zero)
        grown, ends = limits.c.level + limits.c.rate * passed + given_back, {}
    full = _smaller(grown, limits.c.burst)
    other = limits.alias("of_key")
    shut = sa.exists().where(
        other.c.key == KEY,
        other.c.dimension == sa.literal_column(f"'{Dimension.IN_FLIGHT}'"),
        other.c.closed_until > clock.now,
    )
    is_enough = sa.and_(~shut, full >= _smaller(least, limits.c.burst))
    # Multiples of a call's need: what is left of a block would be lost with it.
    whole = clock.dialect.whole(_smaller(wanted, full) / sa.func.nullif(least, zero)) * least
    granted = sa.case((least <= zero, zero), (is_enough, _larger(least, whole)), else_=zero)
    chosen = sa.and_(limits.c.key == KEY, limits.c.dimension == sa.bindparam("wanted_dimension", type_=sa.String()))
    taken = sa.update(limits).where(chosen).values(level=full - granted, granted=granted, updated_at=clock.now, **ends)
    return taken.returning(limits.c.granted, limits.c.level)


@lru_cache(maxsize=16)
def grow_statement(clock: Clock) -> sa.Update:
    """One call more in flight after as many clean answers as calls may be in flight."""
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
def hold_statement(clock: Clock, seconds: float) -> sa.Insert:
    """Calls in flight for one process: what it wants, as far as the others leave it."""
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
def crowd_statement(clock: Clock) -> sa.Select[Any]:
    """How many other processes use a key, and how many of them have calls that wait."""
    waits = sa.case((holders.c.waiting > 0, 1), else_=0)
    chosen = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(waits), 0)).select_from(holders)
    mine = sa.bindparam("mine", type_=sa.String())
    return chosen.where(holders.c.key == KEY, holders.c.holder != mine, holders.c.until > clock.now)


@lru_cache(maxsize=16)
def levels_statement(clock: Clock) -> sa.Select[Any]:
    """Every dimension of a key, refilled to now."""
    passed = _larger(clock.seconds_since(limits.c.updated_at), sa.literal_column("0.0", sa.Float()))
    level = _smaller(limits.c.level + limits.c.rate * passed, limits.c.burst)
    columns = (limits.c.dimension, limits.c.configured, limits.c.learned, level, limits.c.rate, limits.c.burst)
    left = -clock.seconds_since(limits.c.closed_until)
    return sa.select(*columns, left, limits.c.closed_by).where(limits.c.key == KEY)


@lru_cache(maxsize=16)
def refuse_statement(clock: Clock) -> sa.Update:
    """Close a key until at least so many seconds from now, and halve its calls in flight."""
    until = clock.after(_number("seconds"))
    was_open = sa.or_(limits.c.closed_until.is_(None), limits.c.closed_until <= clock.before(_number("ago")))
    half = _larger(limits.c.level / 2, sa.literal_column("1.0", sa.Float()))
    is_longer = sa.or_(limits.c.closed_until.is_(None), limits.c.closed_until < until)
    return (
        sa.update(limits)
        .where(IN_FLIGHT_ROW)
        .values(
            level=sa.case((was_open, half), else_=limits.c.level),
            clean=0,
            refusals=limits.c.refusals + 1,
            closed_until=sa.case((is_longer, until), else_=limits.c.closed_until),
            closed_by=sa.case((is_longer, sa.bindparam("by", type_=sa.String())), else_=limits.c.closed_by),
        )
    )
