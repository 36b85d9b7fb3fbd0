"""Records handlers that run on after they were told to stop, because a thread or an event loop cannot end them.

The item is free for others at once, and nothing that such a handler returns counts. But it may still cost money or change
something, so people must not be told that it has ended.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from fanfold.engine.tasks.moving.used_up import close_task
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.attempt.settle_batch import count_late
from fanfold.engine.worker.attempt.threads import Threads
from fanfold.errors import FanfoldError
from fanfold.store.store import Store, Transaction

if TYPE_CHECKING:
    from fanfold.engine.worker.attempt.attempts import RunningAttempt
    from fanfold.engine.worker.attempt.caller import AnyCall

log = logging.getLogger("fanfold.worker")
DEAF_SECONDS = 5.0
"""How long a handler may take to end after it was told to."""
PAUSES = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Seconds between tries to record what such a handler has used, if the database is away."""


class UnstoppedHandlers:
    """The handlers of one worker that do not stop."""

    def __init__(self, store: Store, threads: Threads) -> None:
        self.worker: Callable[[], str] = lambda: ""
        self._store = store
        self._threads = threads
        self._noted: dict[int, tuple[str, AnyCall]] = {}
        """The worker's id at the time and the call, by the identity of the call."""
        self._unwanted_since: dict[int, float] = {}
        self._watched: set[Future[Any]] = set()
        self._futures: dict[int, Future[Any]] = {}
        """The threads of calls that were told to stop and whose usage is not collected yet, by the identity of the call."""

    @property
    def any_runs(self) -> bool:
        """Whether a handler that was told to stop still runs in a thread."""
        return bool(self._watched)

    def watch(self, call: AnyCall, future: Future[Any]) -> None:
        """Note the handler of a thread if it has not ended in time, and that it has, once it has."""
        self._futures[id(call)] = future
        self._watched.add(future)
        future.add_done_callback(self._watched.discard)
        asyncio.get_running_loop().call_later(DEAF_SECONDS, self._look, call, future)

    def _look(self, call: AnyCall, future: Future[Any]) -> None:
        if not future.done():
            self.note(call)
            future.add_done_callback(lambda _: self.clear(call))

    def note(self, call: AnyCall) -> None:
        """Record that the handler of this call does not stop."""
        worker = self.worker()
        self._noted[id(call)] = (worker, call)
        log.warning(
            "[%s] %s %s of %s was told to stop and runs on: it cannot be stopped here. Call check() in its loop, or set "
            "isolate=True (FANFOLD_ISOLATE=functions for all `def` handlers)",
            worker, call.stage.name, call.name, call.row.id,
        )  # fmt: skip

        def write(tx: Transaction) -> None:
            for part in call.parts:
                tx.unstopped.note(worker, part.claimed)

        self._write(write, lambda: id(call) in self._noted)

    def clear(self, call: AnyCall) -> None:
        """Record that it has ended after all; nothing for a call that was never noted."""
        worker, _ = self._noted.pop(id(call), ("", None))
        self._unwanted_since.pop(id(call), None)
        if not worker:
            return

        def write(tx: Transaction) -> None:
            for part in call.parts:
                tx.unstopped.clear(worker, part.claimed)

        self._write(write)

    def collected(self, call: AnyCall) -> None:
        """The attempt is settled with what it has used so far. Its handler may still run in a thread, and use more."""
        if (future := self._futures.pop(id(call), None)) is not None:
            future.add_done_callback(lambda _: self.count_late(call))

    def count_late(self, call: AnyCall) -> None:
        """Count what the handler has used since it was told to stop, now that it has ended."""
        if late := [settlement for part in call.parts if (settlement := part.late()) is not None]:
            self._threads.submit(partial(self._count, late))

    def _count(self, late: Sequence[Settlement]) -> None:
        for pause in (*PAUSES, None):
            try:
                for task in sorted(self._store.transact(partial(count_late, late=late))):
                    close_task(self._store, task)
                return
            except FanfoldError as problem:
                if pause is None:
                    spent = "; ".join(f"{one.claimed.stage} {one.claimed.key}: {one.usage}" for one in late)
                    log.error(
                        "[%s] Could not record what was used after a stop: %s (%s)", self.worker(), spent, problem
                    )
                    return
                log.info("[%s] Could not record what was used after a stop yet: %s", self.worker(), problem)
            time.sleep(pause)

    def look_while_blocked(self, running: Iterable[RunningAttempt], held: dict[int, tuple[int, bool]]) -> None:
        """Note unwanted handlers that the event loop has not been able to cancel; from the heartbeat's thread."""
        now = time.monotonic()
        for attempt in running:
            call = attempt.call
            if attempt.unwanted is not None or _is_wanted(call, held):
                self._unwanted_since.pop(id(call), None)
            elif now - self._unwanted_since.setdefault(id(call), now) > DEAF_SECONDS and id(call) not in self._noted:
                self.note(call)

    def _write(self, act: Callable[[Transaction], None], is_due: Callable[[], bool] = lambda: True) -> None:
        """Write it in a thread: neither the loop nor the handler's own thread may wait for the database."""

        def write() -> None:
            try:
                if is_due():
                    self._store.transact(act)
            except FanfoldError as problem:
                log.warning("[%s] Could not record whether a handler has stopped: %s", self.worker(), problem)

        self._threads.submit(write)


def _is_wanted(call: AnyCall, held: dict[int, tuple[int, bool]]) -> bool:
    """Whether any of its items is still held and wanted, according to the database."""
    return any(held.get(part.claimed.id) == (part.claimed.lease, True) for part in call.parts)
