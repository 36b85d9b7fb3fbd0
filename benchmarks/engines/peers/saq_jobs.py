"""Drives SAQ: Redis, two processes with uvloop; its fan-in is a `map` that waits in the client."""

# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator"

from __future__ import annotations

import asyncio
import sys
from typing import Any

from benchmarks.engines import tally
from benchmarks.engines.engine import PATIENCE_SECONDS, Engine, redis_url

CONCURRENCY, CHUNK, RESULT_SECONDS = 50, 500, 3_600


def queue() -> Any:
    """A new handle on the queue."""
    from saq.queue.redis import RedisQueue

    return RedisQueue.from_url(redis_url(0))


async def noop(context: Any, *, number: int) -> int:
    """Nothing, and a result that is kept."""
    tally.started()
    return 1


class SaqRedis(Engine):
    """Jobs of one function."""

    def prepare(self) -> None:
        """An empty Redis and a connection."""
        self.loop = asyncio.Runner()
        self.queue = queue()
        self.loop.run(self.queue.connect())
        self.loop.run(self.queue.redis.flushall())

    def commands(self) -> list[list[str]]:
        """This file, as a program."""
        return [[sys.executable, "-m", __name__]] * self.processes

    def enqueue(self, count: int) -> None:
        """Five hundred at the same time."""
        self.loop.run(self._enqueue(count))

    async def _enqueue(self, count: int) -> None:
        for start in range(0, count, CHUNK):
            numbers = range(start, min(count, start + CHUNK))
            await asyncio.gather(*(self.queue.enqueue("noop", number=number, ttl=RESULT_SECONDS) for number in numbers))

    def finished(self) -> int:
        """Jobs that are kept, without those still to be done."""
        return int(self.loop.run(self._finished()))

    async def _finished(self) -> int:
        if await self.queue.count("incomplete"):
            return 0
        return sum([1 async for _ in self.queue.redis.scan_iter("saq:job:*", count=10_000)])

    def fan_out(self, count: int) -> None:
        """Its `map` gives the results to the client."""
        wanted = [{"number": number} for number in range(count)]
        results = self.loop.run(self.queue.map("noop", wanted, timeout=PATIENCE_SECONDS, ttl=RESULT_SECONDS))
        tally.fanned_in(sum(results))

    def close(self) -> None:
        """Close the connection and the loop."""
        self.loop.run(self.queue.disconnect())
        self.loop.close()


ENGINE = SaqRedis


async def work() -> None:
    """One worker process."""
    from saq import Worker

    wanted = queue()
    await wanted.connect()
    await Worker(wanted, [("noop", noop)], concurrency=CONCURRENCY).start()


if __name__ == "__main__":
    import uvloop

    uvloop.run(work())
