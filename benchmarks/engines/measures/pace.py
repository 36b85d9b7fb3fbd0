"""Measures the worker's processor time with 1 000 async handlers in flight, of 100 ms and of 2 s."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from benchmarks.engines import tally, workload
from benchmarks.engines.engine import demand, patiently
from benchmarks.engines.installation import Figure, Place, processor_seconds

ITEMS, IN_FLIGHT, HANDLER_SECONDS = 50_000, 1_000, 0.1
LONG_ITEMS, LONG_SECONDS = 10_000, 2.0


def paced_load(place: Place) -> Iterator[Figure]:
    """A worker with all it can take, beside a bare event loop that only sleeps as often."""
    items = place.items(ITEMS)
    used, seconds = paced(place, items, HANDLER_SECONDS)
    bare = bare_seconds(items)
    yield place.figure("paced load, items/s (10,000 would be the most)", items / seconds, "items/s")
    yield place.figure("paced load, worker's processor per item", used / items * 1e6, "µs")
    yield place.figure("paced load, worker's share of a core", used / seconds * 100, "%")
    yield place.figure("the same sleeps in a bare event loop, processor per item", bare / items * 1e6, "µs")
    long_items = place.items(LONG_ITEMS)
    used, seconds = paced(place, long_items, LONG_SECONDS)
    yield place.figure(f"handlers of {LONG_SECONDS:g} s, worker's processor per item", used / long_items * 1e6, "µs")
    yield place.figure(f"handlers of {LONG_SECONDS:g} s, worker's share of a core", used / seconds * 100, "%")


def paced(place: Place, items: int, handler_seconds: float) -> tuple[float, float]:
    """What one worker with 1 000 slots used, and how long it took."""
    with place.installation() as here, here.workers(1, "paced", IN_FLIGHT) as running:
        here.client.submit(workload.paced, items=[{"seconds": handler_seconds}] * items)
        patiently(lambda: tally.counted().count > 0)
        before = processor_seconds(running)
        patiently(lambda: bool(tally.fan_ins()), here.check)
        used = processor_seconds(running) - before
        fan_in, counted = tally.fan_ins()[0], tally.counted()
        demand("results reached the merge", fan_in.seen, items)
    return used, fan_in.at - counted.first_at


def bare_seconds(items: int) -> float:
    """Processor seconds of a loop that sleeps as often and does nothing else: the handlers' own work."""

    async def sleep(times: int) -> None:
        for _ in range(times):
            await asyncio.create_task(asyncio.sleep(HANDLER_SECONDS))

    async def all_of_them() -> None:
        await asyncio.gather(*(sleep(items // IN_FLIGHT) for _ in range(IN_FLIGHT)))

    before = time.process_time()
    asyncio.run(all_of_them())
    return time.process_time() - before
