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
LONGEST_PAUSE = 60.0
REFUSALS = 3
"""So many refusals in a row (key, account, model) pause the task that met them."""
UNREACHABLE_SECONDS = 300.0
"""A service that nobody could reach for so long pauses the tasks that need it."""


class Lane:
    """The way to one provider, in one event loop."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.places = asyncio.Semaphore(provider.concurrency)
        self._service: Service | None = None
        self._open_at = 0.0
        self._limited = 0
        self._refusals: Counter[str] = Counter()
        self._unreachable_since: float | None = None

    @property
    def service(self) -> Service:
        """The connection, made when it is first needed."""
        if self._service is None:
            self._service = connect(self.provider)
        return self._service

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place in the lane, once it is open; Trouble when it stays closed for longer than one should wait."""
        async with self.places:
            waited_since = time.monotonic()
            while (closed := self._open_at - time.monotonic()) > 0:
                if closed + time.monotonic() - waited_since > PATIENCE:
                    raise Trouble(Kind.LIMITED, f"{self.provider.name} asked to wait.", closed)
                await asyncio.sleep(closed + random.uniform(0, 0.05))
            yield

    def went_well(self) -> None:
        """An answer came: whatever was counted in a row is not in a row any more."""
        self._limited = 0
        self._refusals.clear()
        self._unreachable_since = None

    def limited(self, after: float | None) -> None:
        """The service said that it is asked too often: close the lane, longer each time when it does not say how long.

        Calls that were under way when it closed say the same thing once more: that does not make it worse.
        """
        if after is None and self._open_at > time.monotonic():
            return
        self._limited += 1
        pause = (
            min(LONGEST_PAUSE, 2.0 ** (min(self._limited, 10) - 1) * random.uniform(0.5, 1)) if after is None else after
        )
        self._open_at = max(self._open_at, time.monotonic() + pause)

    def unreachable(self) -> bool:
        """Nobody is there: close the lane for a while; True when this has gone on for so long that a person should know."""
        now = time.monotonic()
        self._unreachable_since = self._unreachable_since or now
        self.limited(None)
        return now - self._unreachable_since > UNREACHABLE_SECONDS

    def refused(self, task: str) -> bool:
        """The service refused; True when it did so several times in a row for this task, and counting begins anew."""
        self._refusals[task] += 1
        if self._refusals[task] < REFUSALS:
            return False
        del self._refusals[task]
        return True

    async def close(self) -> None:
        """Let go of the connection."""
        if self._service is not None:
            await self._service.close()
