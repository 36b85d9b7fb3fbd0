"""The rate limit of each model in one process: it closes for a while when a service refuses or cannot be reached.

All items of a process wait for one limit, instead of each trying by itself. A refusal closes the limit. Each further refusal
without an answer in between closes it for longer, even if the service names a short time. When it opens, one call goes first
and the others wait for its result. The limits that all workers share are in `limits`.
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
from fanfold.providers.services.service import Service, ServiceTrouble, TroubleKind, connect

PATIENCE = 5.0
"""Seconds that a call waits inside its item. If the limit stays closed for longer, the item frees its slot for other work."""
LOOK_SECONDS = 0.05
"""How often a waiting call checks whether the call that went first has its result."""
SHORTEST_PAUSE = 0.1
FIRST_PAUSE = 1.0
"""The first pause, if the service does not say how long."""
LONGEST_PAUSE = 300.0
"""Longest pause after refusals in a row, unless the service asks for more."""
LONGEST_ABSENCE = 60.0
"""Longest pause before an unreachable service is tried again: trying costs nothing."""
LONGEST_WAIT = 600.0
"""If a service asks for a longer wait than this, the tasks that need it are paused."""
REFUSALS = 3
"""A task is paused after this many refusals in a row (of its key, account or model)."""


class Line:
    """The connection to one provider, shared by all its models and made when it is first needed."""

    def __init__(self, provider: Provider, connect: Callable[[Provider], Service]) -> None:
        self.provider = provider
        self._connect = connect
        self._service: Service | None = None
        self._connecting = asyncio.Lock()

    async def connected(self) -> Service:
        """The connection. It is made in a thread, because loading its library takes a second."""
        async with self._connecting:
            if self._service is None:
                self._service = await asyncio.to_thread(self._connect, self.provider)
        return self._service

    async def close(self) -> None:
        """Close the connection."""
        if self._service is not None:
            await self._service.close()


class RateLimit:
    """The rate limit of one model of a provider, in one event loop."""

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
        """Number of calls that have a slot and wait for the rate limit to open."""
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
        """A slot for one call, once the rate limit is open; ServiceTrouble if it stays closed for longer than PATIENCE."""
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
        """Seconds until it opens; 0 if it is open."""
        return max(0.0, self._open_at - self._now())

    def went_well(self, model: str) -> None:
        """An answer came: reset the counts of refusals in a row, and allow twice as many calls at a time."""
        self.answered += 1
        self._in_a_row = 0
        self._is_absent = False
        self._allowed = min(self.provider.concurrency, 2 * self._allowed)
        for task, refused in list(self._refusals):
            if refused == model:
                del self._refusals[task, refused]

    def limited(self, after: float | None, begun_at: float) -> None:
        """The service reported too many requests: close for as long as it says, and longer after each refusal in a row."""
        self._close(FIRST_PAUSE if after is None else max(SHORTEST_PAUSE, after), begun_at, LONGEST_PAUSE)

    def unreachable(self, begun_at: float) -> None:
        """The service cannot be reached: close the rate limit for a while."""
        self._is_absent = True
        self._close(FIRST_PAUSE, begun_at, LONGEST_ABSENCE)

    def _close(self, asked: float, begun_at: float, longest: float) -> None:
        now = self._now()
        pause = min(LONGEST_WAIT, asked)
        # Calls that were in flight when it closed only repeat the refusal, so they do not count as one more in a row.
        if begun_at >= self._closed_at:
            growing = asked * 2.0 ** min(self._in_a_row, 30)
            pause = max(pause, min(longest, growing) * random.uniform(0.75, 1))
            self._in_a_row += 1
            self._closed_at = now
            self._allowed = 1
        self._open_at = max(self._open_at, now + pause)

    def refused(self, task: str, model: str) -> None:
        """Count a refused call: once, however many items wait for its answer."""
        self._refusals[task, model] += 1

    def is_refused(self, task: str, model: str) -> bool:
        """Whether a model was refused REFUSALS times in a row for a task. If so, the count starts again."""
        if self._refusals[task, model] < REFUSALS:
            return False
        del self._refusals[task, model]
        return True

    def is_refused_alone(self, item: int) -> bool:
        """Whether other calls were answered since this item was last refused: then the key is good and the item is the cause."""
        before = self._refused_at.get(item)
        self._refused_at[item] = self.answered
        return before is not None and self.answered > before

    async def close(self) -> None:
        """Close the connection."""
        await self.line.close()
