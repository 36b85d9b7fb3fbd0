"""Calls under a rate limit that all processes share: the real limits, blocks and leases, in the event loops of the workers.

Each admission is checked against what the limit allows, as the service counts it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fanfold.errors import Temporary
from fanfold.model.money.rate_limits import WINDOW_SECONDS, Dimension, Refill, pace
from fanfold.providers.limits import shared
from fanfold.providers.limits.lease import HoldWish, Lease, LimitRows, Visit
from fanfold.providers.limits.need import NOTHING, Need
from fanfold.providers.limits.shared import MustWait, SharedLimit
from fanfold.store.rows.money.rate_limits import HOLD_SECONDS
from fanfold.store.store import Store
from tests.simulation.faults import HANDLER, Faults
from tests.simulation.parts import STAGE
from tests.simulation.schedule import Process, Violation

if TYPE_CHECKING:
    from tests.simulation.world import World

KEY = "simulated:m"
RATES = (12.0, 30.0, 60.0)
"""Requests per minute that the service allows."""
IN_FLIGHT = (1.0, 2.0, 4.0)
SECONDS = (0.0, 0.2, 1.0, 6.0)
"""How long a call takes: others may pause, kill or reclaim meanwhile."""
REFUSED_SECONDS = (2.0, 8.0, 20.0)
REFUSALS, MOST_REFUSED = 0.25, 6
"""How often a call is refused, and how many are in a run."""
ONE = NOTHING | {Dimension.REQUESTS: 1.0}


class WatchedRows(LimitRows):
    """The rows of the limit, as one process uses them; a reported refusal is remembered."""

    def __init__(self, service: LimitedService, process: Process) -> None:
        super().__init__(service.store, KEY, service.sizes, 4, process.name)
        self._service = service

    def visit(self, visit: Visit) -> Lease:
        """A visit; once it is committed, the key is closed for everybody."""
        began = STAGE.schedule.now
        lease = super().visit(visit)
        for refusal in visit.refusals:
            self._service.closings.append((STAGE.schedule.now, began + refusal.seconds))
        return lease


class WatchedLimit(SharedLimit):
    """The limit in one process; each admission is checked."""

    def __init__(self, service: LimitedService, process: Process, now: Callable[[], float]) -> None:
        super().__init__(WatchedRows(service, process), now=now)
        self.process = process
        self.loop: Any = None
        self._service = service

    @property
    def calls(self) -> int:
        """Calls in flight; those of a process that died are over."""
        return 0 if self.process.dead else self._busy

    @property
    def is_held(self) -> bool:
        """Whether its lease of calls in flight still counts."""
        return self.now() <= self._held_at + HOLD_SECONDS

    def _go(self, need: Need) -> None:
        super()._go(need)
        self._service.admitted()


@dataclass
class LimitedService:
    """Allows so many requests per minute, and so many at the same time."""

    store: Store
    faults: Faults
    rate: float
    most: float
    limits: dict[int, WatchedLimit] = field(default_factory=dict)
    """By the number of the process; one that died stays, with nothing in flight."""
    admissions: list[float] = field(default_factory=list)
    closings: list[tuple[float, float]] = field(default_factory=list)
    """From when until when a refusal has closed the key for all."""
    refused: int = 0
    has_expired: bool = False
    """Whether a process was held up so long that others took its place: then more calls may be in flight."""

    @property
    def sizes(self) -> dict[Dimension, float]:
        """The limits as configured."""
        return {Dimension.REQUESTS: self.rate, Dimension.IN_FLIGHT: self.most}

    async def call(self) -> None:
        """One call, as the asker makes it: admitted by the limit, in flight for a while, answered or refused."""
        limit = self._limit()
        try:
            await limit.enter(ONE)
        except MustWait as wait:
            raise Temporary("simulated: limited", after=wait.seconds, counts=False) from None
        try:
            self.faults.at(HANDLER)
            dice = STAGE.schedule.dice
            await asyncio.sleep(dice.choice(SECONDS))
            if self.refused < MOST_REFUSED and dice.random() < REFUSALS:
                self.refused += 1
                seconds = dice.choice(REFUSED_SECONDS)
                limit.refused(seconds, 0.0)
                raise Temporary("simulated: too many requests", after=seconds, counts=False)
            limit.went_well()
        finally:
            limit.leave(ONE)

    def _limit(self) -> WatchedLimit:
        process = STAGE.schedule.current.process
        loop: Any = asyncio.get_running_loop()
        known = self.limits.get(process.pid)
        if known is None or known.loop is not loop:  # A tick has a new loop each time.
            known = self.limits[process.pid] = WatchedLimit(self, process, loop.time)
            known.loop = loop
        return known

    def admitted(self) -> None:
        """Check one admission: the minute before it, the calls in flight, and whether the key is closed."""
        now = STAGE.schedule.now
        self.admissions.append(now)
        recent = sum(now - WINDOW_SECONDS < at <= now for at in self.admissions)
        if recent > self.rate:
            STAGE.schedule.fail(Violation(f"{recent} calls within a minute, and {self.rate:g} are allowed"))
        busy = [limit for limit in self.limits.values() if limit.calls]
        self.has_expired = self.has_expired or not all(limit.is_held for limit in busy)
        in_flight = sum(limit.calls for limit in busy)
        if in_flight > self.most and not self.has_expired:
            STAGE.schedule.fail(Violation(f"{in_flight} calls are in flight, and {self.most:g} are allowed"))
        look = shared.LOOK_SECONDS[1]
        if closed := [one for one in self.closings if one[0] + look < now < one[1] - 0.01]:
            STAGE.schedule.fail(Violation(f"a call at {now:.2f}, and the key is closed: {closed}"))


def the_limit_is_whole(world: World) -> None:
    """What processes held when they died or left has come back: a new one gets as much as the limit ever gives."""
    service = world.witness.limited
    if not service.admissions:
        return
    world.schedule.sleep(2 * WINDOW_SECONDS)
    rows = LimitRows(world.store, KEY, service.sizes, int(service.most), "last")
    most, burst = int(service.most), pace(Dimension.REQUESTS, service.rate).burst
    wish = HoldWish(0, most, most, 0, knows_rate=True)
    lease = rows.visit(Visit((Refill(Dimension.REQUESTS, 1.0, 1_000.0),), wish, looks=True, leaves=True))
    held, granted = lease.held and lease.held.held, lease.taken[Dimension.REQUESTS].granted
    if held != most or granted < int(burst):
        raise Violation(f"{held} of {most} in flight and {granted} of {burst} requests came back")
