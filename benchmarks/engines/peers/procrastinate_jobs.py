"""Drives Procrastinate: psycopg, jobs deferred a thousand at a time. It has neither results nor a fan-in."""

# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator"

from __future__ import annotations

import asyncio
import sys
from typing import Any

import psycopg

from benchmarks.engines import tally
from benchmarks.engines.engine import Engine, database_url
from benchmarks.engines.servers import fresh_database

CONCURRENCY, CHUNK = 10, 1_000
DONE = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"


def application(connections: int) -> Any:
    """The application with its one task."""
    import procrastinate

    connector = procrastinate.PsycopgConnector(conninfo=database_url(), min_size=2, max_size=connections)
    made = procrastinate.App(connector=connector)

    @made.task(name="noop")
    async def noop(number: int) -> None:
        tally.started()

    return made


class Procrastinate(Engine):
    """Jobs of one task."""

    def prepare(self) -> None:
        """Its schema, and a connection that asks."""
        fresh_database(database_url())
        self.loop = asyncio.Runner()
        self.application = application(2)
        self.loop.run(self._open())
        self.asking = psycopg.connect(database_url(), autocommit=True)

    async def _open(self) -> None:
        await self.application.open_async()
        await self.application.schema_manager.apply_schema_async()

    def commands(self) -> list[list[str]]:
        """This file, as a program."""
        return [[sys.executable, "-m", __name__]] * self.processes

    def enqueue(self, count: int) -> None:
        """A thousand per statement."""
        self.loop.run(self._enqueue(count))

    async def _enqueue(self, count: int) -> None:
        noop = self.application.tasks["noop"]
        for start in range(0, count, CHUNK):
            numbers = range(start, min(count, start + CHUNK))
            await noop.batch_defer_async(*({"number": number} for number in numbers))

    def before_work(self) -> None:
        """Statistics, without which its claims stay slow until autovacuum has come by."""
        self.asking.execute("ANALYZE")

    def finished(self) -> int:
        """Jobs that succeeded."""
        row = self.asking.execute(DONE).fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        """Close connections and the loop."""
        self.asking.close()
        self.loop.run(self.application.close_async())
        self.loop.close()


ENGINE = Procrastinate


async def work() -> None:
    """One worker process."""
    made = application(CONCURRENCY + 2)
    async with made.open_async():
        await made.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=True)


if __name__ == "__main__":
    asyncio.run(work())
