"""Drives Celery: Redis as broker and for the results, two processes with threads, and a chord."""

# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator"

from __future__ import annotations

import sys

import redis
from celery import Celery, chord, group

from benchmarks.engines import tally
from benchmarks.engines.engine import Engine, redis_url

THREADS, PREFETCH = 4, 64
application = Celery(__name__, broker=redis_url(0), backend=redis_url(1))
application.conf.update(
    worker_prefetch_multiplier=PREFETCH,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    result_expires=3_600,
)


@application.task(name="noop")
def noop(number: int) -> int:
    """Nothing, and a result that is kept."""
    tally.started()
    return 1


@application.task(name="add")
def add(results: list[int]) -> int:
    """The body of the chord."""
    tally.fanned_in(sum(results))
    return sum(results)


class CeleryRedis(Engine):
    """A group of tasks, or a chord."""

    def prepare(self) -> None:
        """An empty Redis."""
        self.results = redis.Redis.from_url(redis_url(1))
        self.results.flushall()

    def commands(self) -> list[list[str]]:
        """Its own command, without what one machine does not need."""
        words = ["-m", "celery", "-A", f"{__name__}:application", "worker", "--pool", "threads"]
        words += ["--concurrency", str(THREADS), "--loglevel", "WARNING"]
        words += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        return [[sys.executable, *words, "-n", f"worker{number}@%h"] for number in range(self.processes)]

    def enqueue(self, count: int) -> None:
        """One group."""
        group(noop.s(number) for number in range(count)).apply_async()

    def finished(self) -> int:
        """Results that are kept."""
        return sum(1 for _ in self.results.scan_iter("celery-task-meta-*", count=10_000))

    def fan_out(self, count: int) -> None:
        """One chord."""
        chord((noop.s(number) for number in range(count)), add.s()).apply_async()

    def close(self) -> None:
        """Close the connection that asks."""
        self.results.close()


ENGINE = CeleryRedis
