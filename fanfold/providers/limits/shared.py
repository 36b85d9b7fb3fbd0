"""The limit of one account and model in one process: calls wait here, and blocks are leased for all of them at once.

Coroutines never go to the database for themselves. One task for each key tends to it: it leases a block that lasts for a
second, lets the calls go that it covers, and gives back what is left when nobody wants it any more.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from fanfold.model.rate_limits import Dimension
from fanfold.providers.limits.blocks import Blocks
from fanfold.providers.limits.lease import Held, HoldWish, Lease, LimitRows, Refusal, Visit
from fanfold.providers.limits.need import NOTHING, Need
from fanfold.providers.limits.told import ToldLimit

log = logging.getLogger("fanfold.providers")
LOOK_SECONDS = (1.0, 5.0)
"""How often a process with calls that wait looks whether somebody has closed the key: with slow calls less often."""
HOLD_SECONDS = (3.0, 10.0)
"""How often it renews its calls in flight."""
GROW_SECONDS = 0.25
"""How often it asks for more calls in flight while their number grows."""
RETRY_SECONDS = 1.0
"""After a visit that failed."""
IDLE_SECONDS = 2.0
"""After this time without calls a process gives back what it holds."""
SHORTEST_REST = 0.01
LOW = 0.5
"""A service that has less than this share of our bucket left is used by other programs, too."""
Rest = Callable[[asyncio.Event, float], Awaitable[None]]


class MustWait(Exception):
    """The limit does not let a call go for longer than it should wait here."""

    def __init__(self, seconds: float, *, is_quota: bool = False) -> None:
        super().__init__(f"{seconds:.1f} s")
        self.seconds = seconds
        self.is_quota = is_quota


@dataclass
class Waiter:
    """A call that waits."""

    need: Need
    since: float
    admitted: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def fail(self, problem: BaseException) -> None:
        """Send it away."""
        if not self.admitted.done():
            self.admitted.set_exception(problem)


async def rest(wake: asyncio.Event, seconds: float) -> None:
    """Wait for that long, or until there is something to do."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wake.wait()


class Speed:
    """Calls per second, of late."""

    def __init__(self, now: float) -> None:
        self.calls = 0
        self.value = 0.0
        self._since = now

    def measured(self, now: float) -> float:
        """The speed, averaged over a second or so."""
        if now >= self._since + 0.5:
            self.value = (self.value + self.calls / (now - self._since)) / 2
            self.calls, self._since = 0, now
        return self.value


class SharedLimit:
    """The limit of one key, in one event loop."""

    def __init__(
        self,
        rows: LimitRows,
        *,
        now: Callable[[], float] = time.monotonic,
        rest: Rest = rest,
        patience: Callable[[], float] = lambda: 5.0,
    ) -> None:
        self.rows = rows
        self.visits = 0
        """How many transactions it took so far."""
        self.now, self._rest, self._patience = now, rest, patience
        self._queue: deque[Waiter] = deque()
        self._blocks = Blocks()
        self._busy = 0
        self._held: Held | None = None
        self._held_at = self._looked_at = self._failed_at = self._told_at = float("-inf")
        self._yields = False
        self._clean = 0
        self._closed_until = float("-inf")
        self._refusals: list[Refusal] = []
        self._told: dict[Dimension, ToldLimit] = {}
        self._is_learning = False
        """Whether a limit was told that is not in the rows yet: until it is, no more calls go."""
        self._speed = Speed(now())
        self._idle_since = now()
        self._wake = asyncio.Event()
        self._tending: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many calls wait here."""
        return len(self._queue)

    def closed_seconds(self) -> float:
        """For how long it stays closed, as far as this process knows; 0 when it is open."""
        return max(0.0, self._closed_until - self.now())

    async def enter(self, need: Need) -> None:
        """Wait until a call may go, and count it; MustWait when that would take too long."""
        if not self._queue and self._admits(need):
            self._go(need)
            return
        processes = 1 + (self._held.crowd.others if self._held else 0)
        behind = self._blocks.seconds_behind((waiter.need for waiter in self._queue), need, processes)
        if max(behind, self.closed_seconds()) > self._patience():
            raise MustWait(max(behind, self.closed_seconds()))
        waiter = Waiter(need, self.now())
        self._queue.append(waiter)
        self._tend()
        try:
            await waiter.admitted
        except asyncio.CancelledError:
            if waiter in self._queue:
                self._queue.remove(waiter)
            elif waiter.admitted.done() and not waiter.admitted.cancelled() and waiter.admitted.exception() is None:
                self.leave(need, NOTHING)
            raise

    def leave(self, need: Need, used: Need | None = None) -> None:
        """The call is over: what it took less, or more, than estimated is settled."""
        self._busy -= 1
        self._blocks.settle(need, need if used is None else used)
        self._admit()
        self._idle_since = self.now()
        self._tend()

    def went_well(self) -> None:
        """An answer came without a refusal."""
        self._clean += 1

    def refused(self, seconds: float, ago: float, *, is_quota: bool = False) -> None:
        """The service refused a call: close for everybody, at once here and with the next visit for all others."""
        self._refusals.append(Refusal(seconds, ago, is_quota))
        if not is_quota:
            self._closed_until = max(self._closed_until, self.now() + seconds)
            self._clean = 0
        self._tend()

    def learn(self, told: tuple[ToldLimit, ...]) -> None:
        """Keep what a service says of its limits, if it is news."""
        for one in told:
            known = self._blocks.levels.get(one.dimension)
            is_new = known is None or known.size is None or abs(known.size - one.limit) > 0.01 * one.limit
            is_low = known is not None and one.remaining is not None and one.remaining < LOW * known.burst
            if is_new or (is_low and self.now() > self._told_at + LOOK_SECONDS[0]):
                self._told[one.dimension] = one
                self._told_at = self.now()
                self._is_learning = self._is_learning or is_new
        if self._told:
            self._tend()

    async def close(self) -> None:
        """Give back what is held."""
        if self._tending is not None:
            self._tending.cancel()
            await asyncio.gather(self._tending, return_exceptions=True)
        if self._held is not None or self._refusals:
            left = Visit(self._blocks.leftovers(self.now()), refusals=tuple(self._refusals), leaves=True)
            await asyncio.to_thread(self.rows.visit, left)

    def _admits(self, need: Need) -> bool:
        now = self.now()
        if self._held is None or self._busy >= self._held.held or now < self._closed_until or self._is_learning:
            return False
        is_fresh = now < self._looked_at + self._every(LOOK_SECONDS)  # Somebody may have closed it meanwhile.
        return is_fresh and self._blocks.cover(need, now)

    def _go(self, need: Need) -> None:
        self._busy += 1
        self._speed.calls += 1
        self._blocks.take(need)

    def _admit(self) -> None:
        while self._queue and self._admits(self._queue[0].need):
            waiter = self._queue.popleft()
            if not waiter.admitted.done():
                self._go(waiter.need)
                waiter.admitted.set_result(None)

    def _tend(self) -> None:
        """See to it that the task runs that goes to the database."""
        self._wake.set()
        if self._tending is None or self._tending.done():
            self._tending = asyncio.create_task(self._tended())

    async def _tended(self) -> None:
        while self._queue or self._busy or self._refusals or self._told or not self._is_idle():
            self._wake.clear()
            self._admit()
            seconds = self._until_visit()
            if seconds <= 0:
                await self._visit()
                self._turn_away()
            else:
                await self._rest(self._wake, max(SHORTEST_REST, seconds))
        await self._give_back()

    def _is_idle(self) -> bool:
        return self.now() >= self._idle_since + IDLE_SECONDS

    def _until_visit(self) -> float:
        """Seconds until a visit to the rows is worth its while."""
        now = self.now()
        if self._refusals or self._told or (self._queue and self._held is None):
            return self._failed_at + RETRY_SECONDS - now
        if not self._queue:
            renew = self._held_at + HOLD_SECONDS[1] - now
            return renew if self._busy else self._idle_since + IDLE_SECONDS - now
        waits = [self._looked_at + self._every(LOOK_SECONDS) - now, self._held_at + self._every(HOLD_SECONDS) - now]
        if closed := self.closed_seconds():
            return max(SHORTEST_REST, min(closed + random.uniform(0, 0.05), max(0.0, waits[0])))
        if self._wants_more():
            waits.append(self._held_at + GROW_SECONDS - now)
        short = self._blocks.seconds_until(self._next_needs(), now)
        if short is not None:
            waits.append(short)
        return min(waits)

    def _every(self, bounds: tuple[float, float]) -> float:
        """An interval that costs less than a statement for each call."""
        speed = self._speed.measured(self.now())
        return min(bounds[1], max(bounds[0], 2 * bounds[0] / speed)) if speed else bounds[0]

    def _wants_more(self) -> bool:
        """Whether the first call waits for others to land, and more may be allowed than a moment ago."""
        held = self._held
        if held is None or self._busy < held.held:
            return False
        has_room = held.held < min(self.rows.most, held.cap)
        return has_room or held.is_opening or (held.is_searching and self._clean >= held.cap)

    async def _visit(self) -> None:
        visit, sent_at = self._wanted(), self.now()
        self._refusals, self._told, self._is_learning = [], {}, False
        self.visits += 1
        try:
            lease = await asyncio.to_thread(self.rows.visit, visit)
        except Exception as problem:
            log.warning("[limits] %s: %s; trying again in %g s", self.rows.key, problem, RETRY_SECONDS)
            self._refusals, self._failed_at = [*visit.refusals, *self._refusals], self.now()
            self._send_away(problem)
            return
        self._note(lease, sent_at)
        self._admit()

    def _wanted(self) -> Visit:
        now = self.now()
        refills = self._blocks.refills(self._next_needs(), self._speed.measured(now), now)
        is_due = now >= self._held_at + self._every(HOLD_SECONDS) or self._held is None or self._refusals
        hold = None
        if is_due or self._wants_more() or (self._held is not None and not self._held.cap):
            wanted = min(self.rows.most, self._busy + len(self._queue))
            self._yields = not self._yields
            hold = HoldWish(
                self._busy, wanted, len(self._queue), self._clean, self._blocks.knows_rate, yields=self._yields
            )
            self._clean = 0
        looks = hold is not None or now >= self._looked_at + self._every(LOOK_SECONDS)
        return Visit(refills, hold, tuple(self._refusals), tuple(self._told.values()), looks=looks)

    def _next_needs(self) -> list[Need]:
        """What the calls need that could go now."""
        free = max(1, self.rows.most - self._busy)
        return [waiter.need for waiter in islice(self._queue, free)]

    def _note(self, lease: Lease, sent_at: float) -> None:
        now = self.now()
        self._blocks.note(lease.taken, lease.levels, sent_at, now)
        if lease.held is not None:
            self._held, self._held_at = lease.held, sent_at
        if lease.levels is not None:
            self._looked_at = sent_at
            self._closed_until = now + lease.levels[Dimension.IN_FLIGHT].closed_seconds

    def _turn_away(self) -> None:
        """Send back the calls that would have to wait too long: their items give their places to other work."""
        if not self._queue:
            return
        now, closed, patience = self.now(), self.closed_seconds(), self._patience()
        if day := self._blocks.used_up_day(now):
            self._send_away(MustWait(day, is_quota=True))
        elif closed > patience:
            self._send_away(MustWait(closed))
        elif closed or not self._blocks.cover(self._queue[0].need, now):
            while self._queue and now > self._queue[0].since + patience:
                self._queue.popleft().fail(MustWait(max(closed, RETRY_SECONDS)))

    def _send_away(self, problem: Exception) -> None:
        while self._queue:
            self._queue.popleft().fail(problem)

    async def _give_back(self) -> None:
        if self._held is None:
            return
        self._held = None
        self.visits += 1
        left = Visit(self._blocks.leftovers(self.now()), leaves=True)
        try:
            await asyncio.to_thread(self.rows.visit, left)
        except Exception as problem:
            log.warning("[limits] %s: %s; what it held lapses by itself", self.rows.key, problem)
        if self._queue:
            self._tending = asyncio.create_task(self._tended())
