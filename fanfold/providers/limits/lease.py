"""A visit to the rows of a limit: one transaction in which a process reports, asks for blocks, and receives a lease."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from fanfold.model.money.rate_limits import (
    RAMP_PER_SECOND,
    Dimension,
    Level,
    Refill,
)
from fanfold.providers.limits.told import ToldLimit
from fanfold.store.rows.money.rate_limits import Crowd, Taken
from fanfold.store.store import Store, Transaction


@dataclass(frozen=True)
class Refusal:
    """A refusal to report: close for ``seconds``; the refused call was sent ``ago`` seconds before."""

    seconds: float
    ago: float
    is_quota: bool = False
    speed: float = 0.0
    """Answers per second that the process received before the refusal."""


@dataclass(frozen=True)
class HoldWish:
    """The number of calls in flight that a process wants.

    ``busy`` calls are in flight, ``waiting`` calls wait, and ``clean`` calls were answered since the last visit.
    """

    busy: int
    wanted: int
    waiting: int
    clean: int
    knows_rate: bool = False
    """Whether a limit per minute is known: then the number of calls in flight is not found by trying."""
    yields: bool = False


@dataclass(frozen=True)
class Visit:
    """What a process reports to the rows of a key, and asks of them."""

    refills: tuple[Refill, ...] = ()
    hold: HoldWish | None = None
    refusals: tuple[Refusal, ...] = ()
    told: tuple[ToldLimit, ...] = ()
    looks: bool = False
    """Whether it reads the levels."""
    leaves: bool = False


@dataclass(frozen=True)
class CallGrant:
    """The number of calls in flight that a process was granted, and the cap for all processes."""

    held: int
    cap: int
    is_opening: bool
    """Whether the key has just opened, and allows more calls every second."""
    is_searching: bool
    """Whether answers without a refusal raise the cap."""
    crowd: Crowd


@dataclass(frozen=True)
class Lease:
    """What a visit granted to a process."""

    taken: Mapping[Dimension, Taken] = field(default_factory=dict)
    held: CallGrant | None = None
    levels: Mapping[Dimension, Level] | None = None
    """The level of each dimension; None if they were not read."""


class LimitRows:
    """The rows of one key, as one process uses them."""

    def __init__(self, store: Store, key: str, sizes: Mapping[Dimension, float], most: int, holder: str) -> None:
        self.store = store
        self.key = key
        self.sizes = sizes
        self.most = most
        """Most calls in flight of this process."""
        self.holder = holder
        self._is_declared = False

    def visit(self, visit: Visit) -> Lease:
        """Make a visit in one transaction. Rows are locked in a fixed order: calls in flight, then the others by dimension."""
        if visit == Visit(looks=True) and self._is_declared:
            with self.store.read() as tx:
                return Lease(levels=tx.rate_limits.levels(self.key))
        lease = self.store.transact(lambda tx: self._act(tx, visit))
        self._is_declared = True
        return lease

    def _act(self, tx: Transaction, visit: Visit) -> Lease:
        rows = tx.rate_limits
        if not self._is_declared:
            rows.declare(self.key, self.sizes, float(self.most))
        self._report(tx, visit)
        held = None if visit.hold is None else self._held(tx, visit.hold)
        for told in sorted(visit.told, key=lambda one: ORDER[one.dimension]):
            rows.learn(self.key, told.dimension, told.limit, told.remaining)
        ordered = sorted(visit.refills, key=lambda one: ORDER[one.dimension])
        taken = {refill.dimension: rows.take(self.key, refill) for refill in ordered}
        is_short = any(refill.least > 0 and not taken[refill.dimension].granted for refill in ordered)
        levels = rows.levels(self.key) if visit.looks or visit.told or is_short else None
        if visit.leaves:
            rows.leave(self.key, self.holder)
        return Lease(taken, held, levels)

    def _report(self, tx: Transaction, visit: Visit) -> None:
        for refusal in visit.refusals:
            if refusal.is_quota:
                tx.rate_limits.use_up_day(self.key, refusal.seconds)
            else:
                processes = 1 + tx.rate_limits.crowd(self.key, self.holder).others
                tx.rate_limits.refuse(self.key, refusal.seconds, refusal.ago, processes * refusal.speed)

    def _held(self, tx: Transaction, wish: HoldWish) -> CallGrant:
        crowd = tx.rate_limits.crowd(self.key, self.holder)
        ceiling = self.most * (crowd.others + 1)
        level = tx.rate_limits.grow(self.key, wish.clean, ceiling)
        most = self._most(level, ceiling, wish.knows_rate)
        cap = _opening(level, most)
        # If fewer calls are allowed than there are processes, each process yields to the others every second time.
        share = max(math.ceil(cap / (crowd.others + 1)), 0 if wish.yields and cap <= crowd.others else 1)
        wanted = min(wish.wanted, share) if crowd.waiting else wish.wanted
        held = tx.rate_limits.hold(self.key, self.holder, wish.busy, max(wish.busy, wanted), wish.waiting, cap)
        is_searching = level.size is None and not wish.knows_rate and most < ceiling
        return CallGrant(min(held, wanted) if wish.yields else held, cap, cap < int(most), is_searching, crowd)

    def _most(self, level: Level, ceiling: int, knows_rate: bool) -> float:
        """Most calls in flight of all processes: as configured, else the ceiling if a rate is known, else found by trying."""
        if level.size is not None:
            return level.size
        return float(ceiling) if knows_rate else min(level.level, ceiling)


def _opening(level: Level, most: float) -> int:
    """Calls in flight that are allowed now. A key opens step by step, so that not all processes come back at once."""
    if level.closed_seconds > 0:
        return 0
    if level.opened_seconds is None:
        return int(most)
    return int(min(most, 1 + level.opened_seconds * RAMP_PER_SECOND))


ORDER = {dimension: place for place, dimension in enumerate(Dimension)}
