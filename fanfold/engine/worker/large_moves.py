"""Advances tasks that copy many items into their next stage, in a thread, so that turns need not wait."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from functools import partial

from fanfold.engine.tasks.moving.copy_items import move_on
from fanfold.engine.tasks.moving.transitions import Pipelines, left_for_later
from fanfold.engine.worker.attempt.threads import Threads
from fanfold.errors import DatabaseProblem
from fanfold.store.store import Store

log = logging.getLogger("fanfold.worker")


class LargeMoves:
    """The tasks that are being advanced this way. Lives in the loop's thread."""

    def __init__(
        self,
        store: Store,
        pipelines: Pipelines,
        threads: Threads,
        worker: Callable[[], str],
        is_over: Callable[[], bool],
        in_loop: Callable[[Callable[..., None]], Callable[..., None]],
        on_moved: Callable[[], None],
    ) -> None:
        self._store = store
        self._pipelines = pipelines
        self._threads = threads
        self._worker = worker
        self._is_over = is_over
        self._moved = in_loop(self._note)
        self._on_moved = on_moved
        self._moving: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._moving)

    def begin(self, numbers: Iterable[int]) -> None:
        """Copy the items of these tasks and advance them, unless that is already in progress."""
        for number in set(numbers) - self._moving:
            self._moving.add(number)
            self._threads.submit(partial(self._move, number))

    async def end(self, seconds: float) -> None:
        """Wait briefly for copies in progress: each ends after its chunk, and another worker continues it."""
        end = time.monotonic() + seconds
        while self._moving and time.monotonic() < end:
            await asyncio.sleep(0.01)

    def _move(self, number: int) -> None:
        worker = self._worker()
        try:
            with left_for_later(self._store, worker):
                move_on(self._store, self._pipelines, number, worker, self._is_over)
        except DatabaseProblem as problem:
            log.warning("[%s] A later sweep will advance a task: %s", worker, problem)
        except Exception:
            log.exception("[%s] Could not advance a task; the next sweep tries again", worker)
        finally:
            self._moved(number)

    def _note(self, number: int) -> None:
        self._moving.discard(number)
        self._on_moved()
