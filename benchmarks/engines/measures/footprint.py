"""Measures memory and processor of an idle worker, memory with much in flight, and start time."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil

from benchmarks.engines import tally, workload
from benchmarks.engines.engine import patiently
from benchmarks.engines.installation import Figure, Place, processor_seconds

MEGABYTE = 1024**2
SETTLE_SECONDS, WATCH_SECONDS = 2.0, 10.0
IN_FLIGHT, HOLD_SECONDS = 1_000, 5.0
STARTS = 7
IMPORTS = {
    "import fanfold": "import fanfold",
    "import with client and worker": "import fanfold; fanfold.Client, fanfold.Worker",
}


def idle_worker(place: Place) -> Iterator[Figure]:
    """Memory and processor of a worker that has nothing to do."""
    seconds = max(4.0, WATCH_SECONDS * place.scale)
    with place.installation() as here, here.warm_workers(1) as running:
        time.sleep(SETTLE_SECONDS)
        before = processor_seconds(running)
        time.sleep(seconds)
        share = (processor_seconds(running) - before) / seconds
        yield place.figure("idle worker, resident memory", resident(running), "MB")
        yield place.figure("idle worker, memory of its own", own(running), "MB")
    yield place.figure("idle worker, share of a core", share * 100, "%")


def thousand_in_flight(place: Place) -> Iterator[Figure]:
    """Memory of one worker while 1 000 handlers wait in it."""
    with place.installation() as here, here.workers(1, "paced", IN_FLIGHT) as running:
        inputs = [{"seconds": HOLD_SECONDS}] * IN_FLIGHT
        task = here.client.submit(workload.paced, items=inputs)
        patiently(lambda: tally.counted().count >= IN_FLIGHT, here.check)
        yield place.figure("worker with 1,000 in flight, resident memory", resident(running), "MB")
        here.client.wait(task.id, 60)


def start_times(place: Place) -> Iterator[Figure]:
    """Import and command line, each in a new process; the same for both stores."""
    if place.store != "SQLite":
        return
    for what, code in IMPORTS.items():
        timed = f"import time; began = time.perf_counter(); {code}; print(time.perf_counter() - began)"
        taken = [float(said([sys.executable, "-c", timed])) for _ in range(STARTS)]
        yield Figure(what, statistics.median(taken) * 1e3, "ms")
    taken = []
    for _ in range(STARTS):
        began = time.monotonic()
        said([sys.executable, "-m", "fanfold.cli", "--help"])
        taken.append(time.monotonic() - began)
    yield Figure("`fanfold --help`, whole process", statistics.median(taken) * 1e3, "ms")


def said(command: list[str]) -> str:
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def resident(processes: list[psutil.Process]) -> float:
    """Megabytes in memory, shared libraries included."""
    return sum(process.memory_info().rss for process in processes) / MEGABYTE


def own(processes: list[psutil.Process]) -> float:
    """Megabytes that would be free again without them."""
    return sum(process.memory_full_info().uss for process in processes) / MEGABYTE
