"""Samples worker figures while the server runs, for the chart of the last hour."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime

from fanfold.store.store import Store

SAMPLE_SECONDS = 10.0
SAMPLES = 360


@dataclass(frozen=True)
class WorkerSample:
    """Worker figures at one moment: items settled in the previous minute, and items running."""

    at: datetime
    done: int
    failed: int
    running: int
    workers: int


class Samples(deque[WorkerSample]):
    """Samples of the last hour, latest last. They start with this server process."""

    def __init__(self) -> None:
        super().__init__(maxlen=SAMPLES)
        self._taken_at = 0.0

    def take(self, store: Store, now: float) -> None:
        """Take a sample if one is due."""
        if now - self._taken_at < SAMPLE_SECONDS and self._taken_at:
            return
        self._taken_at = now
        with store.read() as tx:
            alive = [worker for worker in tx.workers.all(store.settings.lease_seconds) if worker.alive]
        done, failed, running = (
            sum(getattr(worker, name) for worker in alive) for name in ("done", "failed", "running")
        )
        self.append(WorkerSample(datetime.now(UTC), done, failed, running, len(alive)))
