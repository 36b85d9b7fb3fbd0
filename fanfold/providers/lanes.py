"""How fast may a service be asked? Each has a lane in a worker: so many at a time, closed for a while when it says so."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fanfold.providers.configuration import Provider
from fanfold.providers.services import Kind, Service, Trouble, connect

PATIENCE = 20.0
"""So long a caller waits for a closed lane; when it stays closed for longer, the item gives its place to others."""
SHORTEST_PAUSE = 0.1
LONGEST_PAUSE = 60.0
LONGEST_WAIT = 600.0
"""A service that wants to be left alone for longer than this pauses the tasks that need it."""
REFUSALS = 3
"""So many refusals in a row (key, account, model) pause the task that met them."""
UNREACHABLE_SECONDS = 300.0
"""A service that nobody could reach for so long pauses the tasks that need it."""


class Lane:
    """The way to one provider, in one event loop."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.places = asyncio.Semaphore(provider.concurrency)
        self.answered = 0
        """How many calls were answered; what was refused before and is refused after is refused for a reason of its own."""
        self._service: Service | None = None
        self._connecting = asyncio.Lock()
        self._open_at = 0.0
        self._limited = 0
        self._refusals: Counter[tuple[str, str]] = Counter()
        self._refused_at: dict[int, int] = {}
        self._unreachable: tuple[float, float] | None = None

    async def connected(self) -> Service:
        """The connection, made when it is first needed: in a thread, since loading its library takes a second."""
        async with self._connecting:
            if self._service is None:
                self._service = await asyncio.to_thread(connect, self.provider)
        return self._service

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place in the lane, once it is open; Trouble when it stays closed for longer than one should wait."""
        async with self.places:
            waited_since = time.monotonic()
            while (closed := self._open_at - time.monotonic()) > 0:
                if self._unreachable or closed + time.monotonic() - waited_since > PATIENCE:
                    why = f"can not be reached at {self.provider.address}." if self._unreachable else "asked to wait."
                    raise Trouble(self.provider, Kind.LIMITED, why, closed)
                await asyncio.sleep(closed + random.uniform(0, 0.05))
            yield

    def went_well(self, model: str) -> None:
        """An answer came: whatever was counted in a row is not in a row any more."""
        self.answered += 1
        self._limited = 0
        self._unreachable = None
        for task, refused in list(self._refusals):
            if refused == model:
                del self._refusals[task, refused]

    def limited(self, after: float | None) -> None:
        """The service said that it is asked too often: close the lane, longer each time when it does not say how long.

        Calls that were under way when it closed say the same thing once more: that does not make it worse.
        """
        now = time.monotonic()
        if after is None and self._open_at > now:
            return
        self._limited += 1
        growing = min(LONGEST_PAUSE, 2.0 ** (min(self._limited, 10) - 1) * random.uniform(0.5, 1))
        pause = growing if after is None else min(LONGEST_WAIT, max(SHORTEST_PAUSE, after))
        self._open_at = max(self._open_at, now + pause)

    def unreachable(self) -> bool:
        """Nobody is there: close the lane for a while; True when this has gone on for so long that a person should know."""
        now = time.monotonic()
        since, last = self._unreachable or (now, now)
        # What happened long ago was another time.
        self._unreachable = (since if now - last < UNREACHABLE_SECONDS else now, now)
        self.limited(None)
        return now - self._unreachable[0] > UNREACHABLE_SECONDS

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
        if self._service is not None:
            await self._service.close()
