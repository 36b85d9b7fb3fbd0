"""Metrics of an installation: tasks per state, queue, throughput, mean time and failure rate, from the database."""

from __future__ import annotations

from dataclasses import dataclass

from fanfold.store.store import Store


@dataclass(frozen=True)
class Metrics:
    """The metrics of an installation."""

    tasks: dict[str, int]
    queue: int
    running: int
    retrying: int
    waiting: int
    finished_last_minute: int
    failed_last_minute: int
    mean_seconds: float | None
    failure_rate: float | None
    workers: int


def measure(store: Store) -> Metrics:
    """Read all metrics in one transaction."""
    with store.read() as tx:
        states = tx.counting.open_counts()
        alive = [worker for worker in tx.workers.all(store.settings.lease_seconds) if worker.alive]
        done, failed = sum(worker.done for worker in alive), sum(worker.failed for worker in alive)
        mean = sum(worker.busy_seconds for worker in alive) / (done + failed) if done + failed else None
        return Metrics(
            tasks=tx.tasks.count_by_state(),
            queue=states.get("pending", 0),
            running=states.get("running", 0),
            retrying=states.get("retrying", 0),
            waiting=states.get("waiting", 0),
            finished_last_minute=done,
            failed_last_minute=failed,
            mean_seconds=mean,
            failure_rate=failed / (done + failed) if done + failed else None,
            workers=len(alive),
        )
