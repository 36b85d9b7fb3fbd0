"""Measures items per second: created, and from submission to merge, with one and two worker processes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

from benchmarks.engines import workload
from benchmarks.engines.contestants import counted
from benchmarks.engines.installation import Figure, Place

SIZES = (10_000, 100_000)
REPEATS = 3
MERGED = 10_000


def end_to_end(place: Place) -> Iterator[Figure]:
    """Items per second from the submission to the merge that has seen them all; workers are warm."""
    for processes in (1, 2):
        with place.installation() as here, here.warm_workers(processes):
            for size in map(place.items, SIZES):
                repeats = REPEATS if size <= MERGED else 1
                rates = [size / here.merged(size).seconds for _ in range(repeats)]
                what = f"submit → merged, {size:,} items, {counted(processes)}"
                yield place.figure(what, statistics.median(rates), "items/s")


def ten_thousand_merged(place: Place) -> Iterator[Figure]:
    """Seconds for 10 000 items fanned out, processed and merged, as people wait for them."""
    size = place.items(MERGED)
    with place.installation() as here, here.warm_workers(2):
        taken = [here.merged(size).seconds for _ in range(REPEATS)]
    yield place.figure(f"{size:,} items fanned out, processed, merged, 2 processes", statistics.median(taken), "s")


def creating(place: Place) -> Iterator[Figure]:
    """Items created per second, by one submission, while no worker runs."""
    for size in map(place.items, SIZES):
        with place.installation() as here:
            rates = []
            for _ in range(REPEATS):
                began = time.monotonic()
                here.client.submit(workload.noop, items=range(size))
                rates.append(size / (time.monotonic() - began))
        yield place.figure(f"creating {size:,} items", statistics.median(rates), "items/s")
