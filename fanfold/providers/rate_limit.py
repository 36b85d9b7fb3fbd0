"""The rate limit of each model in one process: closed for a while when a service refuses or is not there.

All items of a process wait at one limit instead of each asking for itself. A refusal closes it; each further refusal without
an answer in between closes it for longer, whatever short time the service names. When it opens, one call tries for all. What
all workers share is in `limits`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fanfold.model.text.sentences import say
from fanfold.providers.configuration import Provider
from fanfold.providers.services import Service, ServiceTrouble, TroubleKind, connect

PATIENCE = 5.0
"""Seconds a call waits inside its item; when the rate limit stays closed for longer, the item gives its place to other work."""
LOOK_SECONDS = 0.05
"""How often a call looks whether the one that tries has an answer."""
SHORTEST_PAUSE = 0.1
FIRST_PAUSE = 1.0
"""The first pause where the service does not say how long."""
LONGEST_PAUSE = 300.0
"""Refusals in a row close the rate limit for this long at most, unless the service asks for more."""
LONGEST_ABSENCE = 60.0
"""A service that is not there is looked for at least this often: that costs nobody anything."""
LONGEST_WAIT = 600.0
"""A service that wants to be left alone for longer than this pauses the tasks that need it."""
REFUSALS = 3
"""So many refusals in a row (key, account, model) pause the task that met them."""


class Line:
    """The connection to one provider, for all its models: made when it is first needed."""

    def __init__(self, provider: Provider, connect: Callable[[Provider], Service]) -> None:
        self.provider = provider
        self._connect = connect
        self._service: Service | None = None
        self._connecting = asyncio.Lock()

    async def connected(self) -> Service:
        """The connection; it is made in a thread, since loading its library takes a second."""
        async with self._connecting:
            if self._service is None:
                self._service = await asyncio.to_thread(self._connect, self.provider)
        return self._service

    async def close(self) -> None:
        """Let go of the connection."""
        if self._service is not None:
            await self._service.close()


class RateLimit:
    """The way to one model of a provider, in one event loop."""

    def __init__(
        self,
        provider: Provider,
        now: Callable[[], float] = time.monotonic,
        connect: Callable[[Provider], Service] = connect,
        *,
        beside: RateLimit | None = None,
    ) -> None:
        self.provider = provider
        self.places: asyncio.Semaphore = beside.places if beside else asyncio.Semaphore(provider.concurrency)
        self.line: Line = beside.line if beside else Line(provider, connect)
        self.answered = 0
        """Number of answered calls. If others were answered between two refusals of one request, that request is the cause."""
        self.waiting = 0
        """How many calls have a place and wait for the rate limit to open."""
        self._now = now
        self._closed_at = float("-inf")
        self._open_at = 0.0
        self._in_a_row = 0
        self._busy = 0
        self._allowed = provider.concurrency
        self._is_absent = False
        self._refusals: Counter[tuple[str, str]] = Counter()
        self._refused_at: dict[int, int] = {}

    async def connected(self) -> Service:
        """The connection, made when it is first needed."""
        return await self.line.connected()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place under the rate limit, once it is open; ServiceTrouble when it stays closed for longer than one should wait."""
        async with self.places:
            self.waiting += 1
            try:
                await self._opened()
            finally:
                self.waiting -= 1
            self._busy += 1
            try:
                yield
            finally:
                self._busy -= 1

    async def _opened(self) -> None:
        now = asyncio.get_running_loop().time
        since = now()
        while (closed := self.closed_seconds()) > 0 or self._busy >= self._allowed:
            left = since + PATIENCE - now()
            if (closed > 0 and (self._is_absent or closed > left)) or left <= 0:
                kind = TroubleKind.UNREACHABLE if self._is_absent else TroubleKind.LIMITED
                absent = say("not_reached", address=self.provider.address)
                why = absent if self._is_absent else say("asked_to_wait")
                raise ServiceTrouble(self.provider, kind, why, max(closed, FIRST_PAUSE if left <= 0 else 0.0))
            await asyncio.sleep(closed + random.uniform(0, LOOK_SECONDS) if closed > 0 else LOOK_SECONDS)

    def closed_seconds(self) -> float:
        """For how long it stays closed; 0 when it is open."""
        return max(0.0, self._open_at - self._now())

    def went_well(self, model: str) -> None:
        """An answer came: whatever was counted in a row is not in a row any more, and twice as many calls may go at a time."""
        self.answered += 1
        self._in_a_row = 0
        self._is_absent = False
        self._allowed = min(self.provider.concurrency, 2 * self._allowed)
        for task, refused in list(self._refusals):
            if refused == model:
                del self._refusals[task, refused]

    def limited(self, after: float | None, begun_at: float) -> None:
        """The service said that it is asked too often: close for as long as it says, and longer with each in a row."""
        self._close(FIRST_PAUSE if after is None else max(SHORTEST_PAUSE, after), begun_at, LONGEST_PAUSE)

    def unreachable(self, begun_at: float) -> None:
        """Nobody is there: close the rate limit for a while."""
        self._is_absent = True
        self._close(FIRST_PAUSE, begun_at, LONGEST_ABSENCE)

    def _close(self, asked: float, begun_at: float, longest: float) -> None:
        now = self._now()
        pause = min(LONGEST_WAIT, asked)
        # Calls that were under way when it closed say the same thing once more: that does not make it worse.
        if begun_at >= self._closed_at:
            growing = asked * 2.0 ** min(self._in_a_row, 30)
            pause = max(pause, min(longest, growing) * random.uniform(0.75, 1))
            self._in_a_row += 1
            self._closed_at = now
            self._allowed = 1
        self._open_at = max(self._open_at, now + pause)

    def refused(self, task: str, model: str) -> None:
        """The service refused a call, which counts once however many wait for it."""
        self._refusals[task, model] += 1

    def is_refused(self, task: str, model: str) -> bool:
        """Whether a model was refused several times in a row for a task; counting then begins anew."""
        if self._refusals[task, model] < REFUSALS:
            return False
        del self._refusals[task, model]
        return True

    def is_refused_alone(self, item: int) -> bool:
        """Whether others were answered since this very item was refused: then the key is good, and it is about the item."""
        before = self._refused_at.get(item)
        self._refused_at[item] = self.answered
        return before is not None and self.answered > before

    async def close(self) -> None:
        """Let go of the connection."""
        await self.line.close()
