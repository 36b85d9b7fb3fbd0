"""Acts for a worker while a handler blocks its event loop. Everything here is called from the watchdog's thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from concurrent.futures import Future, wait
from functools import partial
from typing import TYPE_CHECKING, Any

from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.claiming.room import Room
from fanfold.engine.worker.turn import take_turn
from fanfold.errors import DatabaseProblem

if TYPE_CHECKING:
    from fanfold.engine.worker.attempt.attempts import RunningAttempt
    from fanfold.engine.worker.loop import Worker

log = logging.getLogger("fanfold.worker")
LEAVE_SECONDS = 0.5
"""Time limit for signing off. If it fails, held items run again when the lease ends."""


class WatchedWorker:
    """A worker as its watchdog sees it."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    @property
    def id(self) -> str:
        """The worker's id."""
        return self._worker.id

    def gone_by(self) -> float | None:
        """When the worker must be gone, if at all; on the monotonic clock."""
        return self._worker._stopping.gone_by()

    def settle(self, settled: list[Settlement], patience: float | None = None) -> None:
        """Settle in the database thread; wait at most ``patience`` seconds if given. The rest is kept for the loop."""
        worker = self._worker
        turn = partial(take_turn, worker.store, worker.claimer, worker.pipelines, worker.id, settled, Room(0))

        def done(future: Future[Any]) -> None:
            if future.cancelled() or future.exception() is not None:
                worker._attempts.put_back(settled)

        try:
            future = worker._database.submit(turn, in_flight=set(), hinted=False, large=set())
        except RuntimeError:  # The worker is already leaving.
            worker._attempts.put_back(settled)
            return
        future.add_done_callback(done)
        if patience is not None:
            wait([future], patience)

    def waiting(self) -> list[Settlement]:
        """Take the items that wait for a slot, to hand them back: while the loop is blocked, none gets one."""
        return self._worker._waiting.take_all()

    def put_off(self, item: int | None, seconds: float) -> None:
        """Extend the deadlines of all items except one: the blocked loop is not their fault."""
        try:
            self._worker.store.transact(lambda tx: tx.settling.put_off_deadlines(self.id, seconds, but=item))
        except DatabaseProblem as problem:
            log.warning("[%s] Could not extend the deadlines of waiting items: %s", self.id, problem)

    def handed_back(self, attempts: Iterable[RunningAttempt]) -> list[Settlement]:
        """Settlements that hand attempts back; those past their time limit fail."""
        cut_off = self._worker._stopping.cut_off(self._worker.store.settings.hand_back_limit)
        endings: list[Settlement] = []
        for one in attempts:
            had_time = cut_off is not None and one.started_at <= cut_off.begun_by
            release = one.call.release(out_of_time=cut_off if had_time else None)
            ended = one.call.time_out() if one.call.time.is_over else release
            endings += ended if isinstance(ended, list) else [ended]
        return endings

    def leave(self) -> None:
        """Hand back what is still held, end the children, and sign off. The worker stops as soon as its loop continues."""
        worker = self._worker
        worker._stopping.ask_at_once()
        worker._services.stop()
        worker.children.close()
        leaving = threading.Thread(target=self._sign_off, name=f"{worker.name}-leaving", daemon=True)
        leaving.start()
        leaving.join(LEAVE_SECONDS)

    def _sign_off(self) -> None:
        worker = self._worker
        try:
            with worker.store.read() as tx:
                held = tx.workers.held(worker.id)
            worker._release([{"id": item, "lease": lease} for item, (lease, _) in held.items()])
        except DatabaseProblem as problem:
            log.warning("[%s] Could not hand back its items: %s", worker.id, problem)
        worker._heartbeat.stop()
