"""An empty installation of Fanfold on either database, with workers started as a user would start them."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

import fanfold as ff
from benchmarks.engines import tally, workload
from benchmarks.engines.contestants import CONCURRENCY, Store
from benchmarks.engines.engine import PATIENCE_SECONDS, demand, patiently
from benchmarks.engines.processes import Workers
from benchmarks.engines.servers import Servers, fresh_database

FEWEST = 100
SLOWEST = 500
"""Items per second below which a measure gives up."""


@dataclass(frozen=True)
class Figure:
    """One figure of a table; without a store it holds for both."""

    what: str
    value: float
    unit: str
    store: str = ""


@dataclass(frozen=True)
class Place:
    """What a measure is given: the servers, the kind of store, and how far to go."""

    servers: Servers
    store: Store
    scale: float = 1.0
    long: bool = False

    def items(self, wanted: int) -> int:
        """The number of items to use: as wanted, or fewer in a quick run."""
        return max(FEWEST, int(wanted * self.scale))

    def figure(self, what: str, value: float, unit: str) -> Figure:
        """A figure of this store."""
        return Figure(what, value, unit, self.store)

    @contextmanager
    def installation(self) -> Iterator[Installation]:
        """An empty one, gone at the end."""
        folder = Path(tempfile.mkdtemp(dir=self.servers.folder))
        (folder / "tally").mkdir()
        url = f"sqlite:///{folder / 'fanfold.db'}"
        if self.store == "PostgreSQL":
            url = self.servers.postgresql
            fresh_database(url)
        changed = {"ENGINES_FOLDER": str(folder), "ENGINES_TALLY": str(folder / "tally")}
        changed |= {"FANFOLD_DATABASE": url, "FANFOLD_DATA": str(folder / "data")}
        before = dict(os.environ)
        os.environ.update(changed)
        try:
            with ff.Client() as client:
                yield Installation(client, url)
        finally:
            os.environ.clear()
            os.environ.update(before)
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Merged:
    """What one task took, in the clock of the tally."""

    items: int
    submitted_at: float
    merge_at: float
    merged_at: float
    last_item_at: float

    @property
    def seconds(self) -> float:
        """From the call that submits to the merge that has seen all results."""
        return self.merged_at - self.submitted_at


class Installation:
    """A client, and ways to have tasks worked off."""

    def __init__(self, client: ff.Client, url: str) -> None:
        self.client = client
        self.url = url
        self.check: Callable[[], None] | None = None

    def command(self, pipeline: str = "noop", concurrency: int = CONCURRENCY) -> list[str]:
        """One worker process."""
        target = f"{workload.__name__}:{pipeline}"
        return [sys.executable, "-m", "fanfold.cli", "worker", target, "--concurrency", str(concurrency)]

    @contextmanager
    def workers(
        self, processes: int, pipeline: str = "noop", concurrency: int = CONCURRENCY
    ) -> Iterator[list[psutil.Process]]:
        """Workers that are up, seen in the list of workers."""
        with Workers([self.command(pipeline, concurrency)] * processes) as started:
            self.check = started.check
            patiently(lambda: len(self.client.workers()) >= processes, self.check, 30)
            yield [psutil.Process(process.pid) for process in started.running]

    @contextmanager
    def warm_workers(self, processes: int) -> Iterator[list[psutil.Process]]:
        """Workers that have done something already."""
        with self.workers(processes) as running:
            self.merged(FEWEST)
            yield running

    def merged(self, items: int) -> Merged:
        """Submit a task and wait until it is merged; looking at files disturbs nobody."""
        tally.forget()
        tally.forget("merge")
        submitted = time.monotonic()
        task = self.client.submit(workload.noop, items=range(items))
        patiently(lambda: bool(tally.fan_ins()), self.check, PATIENCE_SECONDS + items / SLOWEST)
        fan_in = tally.fan_ins()[0]
        demand("results reached the merge", fan_in.seen, items)
        self.client.wait(task.id, 30, poll=0.01)
        return Merged(items, submitted, tally.notes("merge")[0][0], fan_in.at, tally.counted().last_at)


def processor_seconds(processes: list[psutil.Process]) -> float:
    """What they have used so far."""
    return sum(sum(process.cpu_times()[:2]) for process in processes)
