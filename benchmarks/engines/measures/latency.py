"""Measures the time from submission to the handler's start, and from the last item to the merge."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Iterator

import fanfold as ff
from benchmarks.engines import tally, workload
from benchmarks.engines.engine import patiently
from benchmarks.engines.installation import Figure, Installation, Place

SAMPLES = 200
FAN_INS, FAN_IN_ITEMS = 40, 20
PAUSES = (0.01, 0.08)
"""Seconds between two submissions, at random, so that no rhythm of a worker is met each time."""
IDLE_SECONDS = 1.5


def submit_to_start_elsewhere(place: Place) -> Iterator[Figure]:
    """Submit → handler start in another process that was idle."""
    with place.installation() as here, here.workers(1, "single"):
        yield from spread(place, "submit → start, other process", starts(here, samples(place)))


def submit_to_start_here(place: Place) -> Iterator[Figure]:
    """Submit → handler start in a worker that runs in the same process."""
    with place.installation() as here:
        worker = ff.Worker([workload.single], store=here.client.store)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            taken = starts(here, samples(place))
        finally:
            worker.stop()
            thread.join()
    yield from spread(place, "submit → start, same process", taken)


def fan_in_delay(place: Place) -> Iterator[Figure]:
    """From the start of the last item, which takes no time, to the start of the merge handler."""
    count = max(5, int(FAN_INS * place.scale))
    with place.installation() as here, here.warm_workers(1):
        taken = []
        for _ in range(count):
            time.sleep(random.uniform(*PAUSES))
            merged = here.merged(FAN_IN_ITEMS)
            taken.append(merged.merge_at - merged.last_item_at)
    yield from spread(place, "last item → merge starts", taken)


def samples(place: Place) -> int:
    """How often, in this run."""
    return max(20, int(SAMPLES * place.scale))


def starts(here: Installation, count: int) -> list[float]:
    """Submit one item at a time to an idle system, and measure the time until each is started."""
    submit_one(here)
    time.sleep(IDLE_SECONDS)
    taken = []
    for _ in range(count):
        time.sleep(random.uniform(*PAUSES))
        taken.append(submit_one(here))
    return taken


def submit_one(here: Installation) -> float:
    """Seconds from the call to the start of its handler."""
    known, began = len(tally.notes("start")), time.monotonic()
    here.client.submit(workload.single, items=[known])
    patiently(lambda: len(tally.notes("start")) > known, seconds=30)
    return tally.notes("start")[known][0] - began


def spread(place: Place, what: str, taken: list[float]) -> Iterator[Figure]:
    """The median and the 95th percentile, in milliseconds."""
    yield place.figure(f"{what}, median", statistics.median(taken) * 1e3, "ms")
    yield place.figure(f"{what}, p95", statistics.quantiles(taken, n=20)[-1] * 1e3, "ms")
