"""Checks the database's health: one query with a timeout, shared by all callers."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from fanfold.errors import DatabaseProblem
from fanfold.model.text.sentences import say
from fanfold.store.database_errors import UNREACHABLE
from fanfold.store.store import Store

LOOK_SECONDS = 3.0
"""Timeout for counting the workers; a slower database is of no use to a page."""


class DatabaseHealth:
    """Queries the database in its own thread, so that requests waiting for the database cannot delay it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database-health")
        self._looking: asyncio.Future[int] | None = None

    async def workers(self) -> int:
        """Number of live workers. Raises DatabaseProblem if the database cannot be used or does not answer in time."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().run_in_executor(self._thread, self._look)
            self._looking.add_done_callback(_heard)
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await asyncio.shield(self._looking)
        except TimeoutError:
            raise DatabaseProblem(
                f"The database has not answered for {LOOK_SECONDS:g} s.",
                code=UNREACHABLE,
                public=say("database_silent"),
            ) from None

    def close(self) -> None:
        """Stop checking; a running query is left alone."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _look(self) -> int:
        with self.store.read() as tx:
            return sum(worker.alive for worker in tx.workers.all(self.store.settings.lease_seconds))


def _heard(looking: asyncio.Future[int]) -> None:
    """Retrieve the exception, because no caller may be waiting for it."""
    if not looking.cancelled():
        looking.exception()
