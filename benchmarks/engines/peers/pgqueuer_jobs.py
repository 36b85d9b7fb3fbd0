"""Drives PgQueuer: asyncpg, large batches, uvloop. It keeps no results: a finished job leaves a row in its log."""

# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator"

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

from benchmarks.engines import tally
from benchmarks.engines.engine import Engine, database_url
from benchmarks.engines.servers import fresh_database

BATCH, CHUNK = 2_000, 1_000
DONE = "SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'"


class PgQueuer(Engine):
    """Jobs of one entrypoint."""

    def prepare(self) -> None:
        """Its tables, and a connection for each of filling and asking."""
        import asyncpg
        from pgqueuer.db import AsyncpgDriver
        from pgqueuer.queries import Queries

        fresh_database(database_url())
        self.loop = asyncio.Runner()
        self.filling = self.loop.run(asyncpg.connect(database_url()))
        self.queries = Queries(AsyncpgDriver(self.filling))
        self.loop.run(self.queries.install())

    def commands(self) -> list[list[str]]:
        """This file, as a program."""
        return [[sys.executable, "-m", __name__]] * self.processes

    def enqueue(self, count: int) -> None:
        """A thousand per statement."""
        self.loop.run(self._enqueue(count))

    async def _enqueue(self, count: int) -> list[Any]:
        jobs: list[Any] = []
        for start in range(0, count, CHUNK):
            numbers = range(start, min(count, start + CHUNK))
            payloads: list[bytes | None] = [b"%d" % number for number in numbers]
            jobs += await self.queries.enqueue(["noop"] * len(numbers), payloads, [0] * len(numbers))
        return jobs

    def finished(self) -> int:
        """Jobs that its log calls successful."""
        return int(self.loop.run(self.filling.fetchval(DONE)))

    def fan_out(self, count: int) -> None:
        """Its watcher waits for every job in the client."""
        self.loop.run(self._fan_out(count))

    async def _fan_out(self, count: int) -> None:
        import asyncpg
        from pgqueuer.core.completion import CompletionWatcher
        from pgqueuer.db import AsyncpgDriver
        from pgqueuer.queries import Queries

        jobs = await self._enqueue(count)
        connection = await asyncpg.connect(database_url())
        driver = AsyncpgDriver(connection)
        async with CompletionWatcher(driver, queries=Queries(driver)) as watcher:
            statuses = await asyncio.gather(*(watcher.wait_for(job) for job in jobs))
            tally.fanned_in(sum(status == "successful" for status in statuses))
        await connection.close()

    def close(self) -> None:
        """Close the connection and the loop."""
        self.loop.run(self.filling.close())
        self.loop.close()


ENGINE = PgQueuer


async def work() -> None:
    """One worker process."""
    import asyncpg
    from pgqueuer import PgQueuer as Worker

    pool = await asyncpg.create_pool(database_url(), min_size=2, max_size=8)
    worker = Worker.from_asyncpg_pool(pool)

    @worker.entrypoint("noop")
    async def noop(job: Any) -> None:
        tally.started()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.shutdown.set)
    await worker.run(batch_size=BATCH)


if __name__ == "__main__":
    import uvloop

    uvloop.run(work())
