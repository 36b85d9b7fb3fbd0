"""The single thread in which a worker takes its turns; retries while the database does not answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any

from fanfold.engine.worker.stop_times import StopTimes
from fanfold.errors import DatabaseProblem, FanfoldError
from fanfold.model.shortage import told
from fanfold.model.text.moments import told_at
from fanfold.store.database_errors import UNREACHABLE
from fanfold.store.store import Store

log = logging.getLogger("fanfold.worker")
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


class DatabaseThread:
    """Runs functions that use the database, one at a time, outside the loop's thread."""

    def __init__(
        self, store: Store, name: str, stopping: StopTimes, known_misfit: Callable[[], FanfoldError | None]
    ) -> None:
        self._store = store
        self._name = name
        self._stopping = stopping
        self._known_misfit = known_misfit
        self._thread = ThreadPoolExecutor(
            1, thread_name_prefix=f"{name}-database", initializer=store.database.own_connections
        )

    def submit(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Future[Any]:
        """Run it there, from any thread; RuntimeError if the worker is already leaving."""
        return self._thread.submit(function, *arguments, **named)

    def close(self) -> None:
        """End the thread after its current function."""
        self._thread.shutdown(wait=False)

    async def run(self, function: Callable[[], Any]) -> Any:
        """Run it there, once."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    async def persistently(self, function: Callable[[], Any]) -> Any:
        """Run it there, with retries while the database is unreachable; unsaved results are kept."""
        pause, lost_at = FIRST_PAUSE, None
        while True:
            try:
                found = await self.run(function)
                if lost_at is not None:
                    log.warning("[%s] The database is reachable again after %s", self._name, _ago(lost_at))
                return found
            except DatabaseProblem as problem:
                if misfit := self._known_misfit() or await self.run(partial(self._misfit_behind, problem)):
                    raise misfit from problem
                if problem.code != UNREACHABLE or self._gives_up():
                    raise
                lost_at = lost_at or datetime.now(UTC)
                line = "[%s] %s Database lost since %s, trying again in %.1f s"
                log.warning(line, self._name, problem, told_at(lost_at, datetime.now(UTC), seconds=True), pause)
            except OSError as error:
                if (why := told(error)) is None or self._gives_up():
                    raise
                log.warning("[%s] %s. Trying again in %.1f s", self._name, why, pause)
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)

    async def within(self, function: Callable[[], Any], seconds: float) -> DatabaseProblem | None:
        """Run it there, with retries for ``seconds`` while the database is unreachable; returns the problem if it failed."""
        pause, end = FIRST_PAUSE, time.monotonic() + seconds
        while True:
            try:
                await self.run(function)
                return None
            except DatabaseProblem as problem:
                if problem.code != UNREACHABLE or time.monotonic() + pause > end:
                    return problem
            await asyncio.sleep(pause)
            pause *= 2

    def _gives_up(self) -> bool:
        return self._stopping.at_once or self._stopping.is_past_grace()

    def _misfit_behind(self, problem: DatabaseProblem) -> DatabaseProblem | None:
        """The reason, if the statement was refused because the database was upgraded, which the heartbeat will notice later."""
        if problem.code == UNREACHABLE:
            return None
        try:
            with self._store.read() as tx:
                return tx.misfit()
        except DatabaseProblem:
            return None


def _ago(moment: datetime) -> str:
    return f"{(datetime.now(UTC) - moment).total_seconds():.1f} s"
