"""The limit of one account and model (a key) in one process: calls wait here, and blocks are leased for all of them.

Calls never query the database themselves. One asyncio task per key does that for all: it leases a block that lasts for a
second, admits the calls that the block covers, and gives back what is left when no call needs it any more.
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

from fanfold.model.money.rate_limits import Dimension
from fanfold.providers.limits.blocks import Blocks
from fanfold.providers.limits.lease import CallGrant, HoldWish, Lease, LimitRows, Refusal, Visit
from fanfold.providers.limits.need import NOTHING, Need
from fanfold.providers.limits.speed import Answered, Speed
from fanfold.providers.limits.told import ToldLimit

log = logging.getLogger("fanfold.providers")
LOOK_SECONDS = (1.0, 5.0)
"""Shortest and longest interval of checks whether the key was closed, while calls wait: slow calls need fewer checks."""
HOLD_SECONDS = (3.0, 10.0)
"""Shortest and longest interval at which a process renews its lease of calls in flight."""
GROW_SECONDS = 0.25
"""How often a process asks for more calls in flight while their number grows."""
RETRY_SECONDS = 1.0
"""Pause after a failed visit."""
IDLE_SECONDS = 2.0
"""A process without calls gives back what it holds after this time."""
SHORTEST_REST = 0.01
LOW = 0.5
"""If a service has less than this share of our bucket left, other programs use the same limit."""
Rest = Callable[[asyncio.Event, float], Awaitable[None]]


class MustWait(Exception):
    """The limit cannot admit a call within the time that the call may wait here."""

    def __init__(self, seconds: float, *, is_quota: bool = False) -> None:
        super().__init__(f"{seconds:.1f} s")
        self.seconds = seconds
        self.is_quota = is_quota


@dataclass
class Waiter:
    """A waiting call."""

    need: Need
    since: float
    admitted: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def fail(self, problem: BaseException) -> None:
        """End the wait with an exception."""
        if not self.admitted.done():
            self.admitted.set_exception(problem)


async def rest(wake: asyncio.Event, seconds: float) -> None:
    """Wait for ``seconds``, or until ``wake`` is set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await wake.wait()


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
        """Number of transactions so far."""
        self.now, self._rest, self._patience = now, rest, patience
        self._queue: deque[Waiter] = deque()
        self._blocks = Blocks()
        self._busy = 0
        self._held: CallGrant | None = None
        self._held_at = self._looked_at = self._failed_at = self._told_at = float("-inf")
        self._yields = False
        self._clean = 0
        self._closed_until = float("-inf")
        self._refusals: list[Refusal] = []
        self._told: dict[Dimension, ToldLimit] = {}
        self._is_learning = False
        """Whether the service reported a limit that is not in the rows yet: until it is, no more calls are admitted."""
        self._speed = Speed(now())
        self._answered = Answered()
        self._idle_since = now()
        self._wake = asyncio.Event()
        self._tending: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many calls wait here."""
        return len(self._queue)

    def closed_seconds(self) -> float:
        """Seconds until it opens, as far as this process knows; 0 if it is open."""
        return max(0.0, self._closed_until - self.now())

    async def enter(self, need: Need) -> None:
        """Wait until a call is admitted, and count it; MustWait if that would take too long."""
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
        """The call is over: settle the difference between the estimate and what it used."""
        self._busy -= 1
        self._blocks.settle(need, need if used is None else used)
        self._admit()
        self._idle_since = self.now()
        self._tend()

    def went_well(self) -> None:
        """An answer came without a refusal."""
        self._clean += 1
        self._answered.add(self.now())

    def refused(self, seconds: float, ago: float, *, is_quota: bool = False) -> None:
        """The service refused a call: close the key, at once in this process and with the next visit for all others."""
        self._refusals.append(Refusal(seconds, ago, is_quota, self._answered.per_second(self.now())))
        if not is_quota:
            self._closed_until = max(self._closed_until, self.now() + seconds)
            self._clean = 0
        self._tend()

    def learn(self, told: tuple[ToldLimit, ...]) -> None:
        """Keep what a service reports about its limits, if it is new or if little is left."""
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
        is_fresh = now < self._looked_at + self._every(LOOK_SECONDS)  # Another process may have closed it.
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
        """Wake the task that visits the database, or start it."""
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
        """Seconds until the next visit is due."""
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
        others = self._held.crowd.waiting if self._held else 0
        short = self._blocks.seconds_until(self._next_needs(), now, others)
        if short is not None:
            waits.append(short)
        return min(waits)

    def _every(self, bounds: tuple[float, float]) -> float:
        """An interval within the bounds, long enough to cost less than one statement per call."""
        speed = self._speed.measured(self.now())
        return min(bounds[1], max(bounds[0], 2 * bounds[0] / speed)) if speed else bounds[0]

    def _wants_more(self) -> bool:
        """Whether the first call waits until others have ended, although more calls in flight may be allowed by now."""
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
        # Include what will be due soon, because that saves a visit.
        is_due = now >= self._held_at + self._every(HOLD_SECONDS) / 2 or self._held is None or self._refusals
        hold = None
        if is_due or self._wants_more() or (self._held is not None and not self._held.cap):
            wanted = min(self.rows.most, self._busy + len(self._queue))
            self._yields = not self._yields
            hold = HoldWish(
                self._busy, wanted, len(self._queue), self._clean, self._blocks.knows_rate, yields=self._yields
            )
            self._clean = 0
        looks = hold is not None or now >= self._looked_at + self._every(LOOK_SECONDS) / 2
        return Visit(refills, hold, tuple(self._refusals), tuple(self._told.values()), looks=looks)

    def _next_needs(self) -> list[Need]:
        """The needs of the waiting calls that could be admitted now."""
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
        """End the wait of calls that would wait too long, so that their items free their slots for other work."""
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
            log.warning("[limits] %s: %s; its reservations expire by themselves", self.rows.key, problem)
        if self._queue:
            self._tending = asyncio.create_task(self._tended())
