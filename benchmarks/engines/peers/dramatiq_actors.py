"""Drives Dramatiq: Redis as broker, for the results and for the barrier behind a group's completion callback."""

# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator"

from __future__ import annotations

import sys

import dramatiq
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import GroupCallbacks
from dramatiq.rate_limits.backends import RedisBackend as Barriers
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend as Kept

from benchmarks.engines import tally
from benchmarks.engines.engine import Engine, redis_url

THREADS = 8
broker = RedisBroker(url=redis_url(0))
broker.add_middleware(GroupCallbacks(Barriers(url=redis_url(1))))
broker.add_middleware(Results(backend=Kept(url=redis_url(2))))
dramatiq.set_broker(broker)


@dramatiq.actor(store_results=True, result_ttl=3_600_000)
def noop(number: int) -> int:
    """Nothing, and a result that is kept."""
    tally.started()
    return 1


@dramatiq.actor
def complete() -> None:
    """The callback gets no results: it asks how many are kept."""
    tally.fanned_in(kept())


def kept() -> int:
    """Results in their database."""
    with redis.Redis.from_url(redis_url(2)) as results:
        return int(results.dbsize())


class DramatiqRedis(Engine):
    """A group of messages."""

    def prepare(self) -> None:
        """An empty Redis."""
        with redis.Redis.from_url(redis_url(0)) as everything:
            everything.flushall()

    def commands(self) -> list[list[str]]:
        """Its own command."""
        words = ["-m", "dramatiq", __name__, "--processes", str(self.processes), "--threads", str(THREADS)]
        return [[sys.executable, *words]]

    def enqueue(self, count: int) -> None:
        """One group, without a callback."""
        dramatiq.group([noop.message(number) for number in range(count)]).run()

    def finished(self) -> int:
        """Results that are kept."""
        return kept()

    def fan_out(self, count: int) -> None:
        """One group with a callback; results of a warm-up would be counted with its own."""
        with redis.Redis.from_url(redis_url(2)) as results:
            results.flushdb()
        wanted = dramatiq.group([noop.message(number) for number in range(count)])
        wanted.add_completion_callback(complete.message())
        wanted.run()


ENGINE = DramatiqRedis
