"""The health of the database as the server sees it: one look for all who ask, with an end."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from fanfold.errors import DatabaseProblem
from fanfold.model.text.sentences import say
from fanfold.store.database_errors import UNREACHABLE
from fanfold.store.store import Store

LOOK_SECONDS = 3.0
"""A database that takes longer to count the workers is no use to anybody who waits for a page."""


class DatabaseHealth:
    """Looks at the database in a thread of its own, so that nobody who waits for the database can be in the way."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database-health")
        self._looking: asyncio.Future[int] | None = None

    async def workers(self) -> int:
        """How many workers live; DatabaseProblem when the database cannot be used or does not answer in time."""
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
        """Look no longer; a look that is under way is left alone."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _look(self) -> int:
        with self.store.read() as tx:
            return sum(worker.alive for worker in tx.workers.all(self.store.settings.lease_seconds))


def _heard(looking: asyncio.Future[int]) -> None:
    """Nobody may have waited for the end of it."""
    if not looking.cancelled():
        looking.exception()
