"""What an engine must implement here: create items, run workers, and count the results it has stored."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.engines import tally
from benchmarks.engines.contestants import Contestant
from benchmarks.engines.processes import Workers

LOOK_SECONDS = 0.005
WARM_ITEMS = 20
PATIENCE_SECONDS = 100.0


@dataclass(frozen=True)
class Run:
    """What one run of one engine took."""

    items: int
    create_seconds: float | None = None
    process_seconds: float | None = None
    fanned_seconds: float | None = None
    fan_in_seconds: float | None = None
    fdatasync_seconds: float | None = None
    others_share: float | None = None
    """How it was just before: what the disk took, and what others used of the processor."""


class Incomplete(Exception):
    """An engine did not do all of the work; the text says what is missing."""


def database_url() -> str:
    """The PostgreSQL database of this run; `prepare` creates it again."""
    return os.environ["ENGINES_POSTGRESQL"]


def redis_url(number: int = 0) -> str:
    """One of the databases of the Redis of this run."""
    return f"{os.environ['ENGINES_REDIS']}/{number}"


def work_folder() -> Path:
    """An empty folder of this run, for engines that keep their store in a file."""
    return Path(os.environ["ENGINES_FOLDER"])


class Engine(ABC):
    """One way to do the workload: a task of items that do nothing, all processed, results kept, fanned in."""

    def __init__(self, contestant: Contestant) -> None:
        self.contestant = contestant
        self.processes = contestant.processes

    @abstractmethod
    def prepare(self) -> None:
        """Make an empty store."""

    @abstractmethod
    def commands(self) -> list[list[str]]:
        """The worker processes, as commands."""

    @abstractmethod
    def enqueue(self, count: int) -> None:
        """Create this number of items, in the fastest way the engine offers."""

    @abstractmethod
    def finished(self) -> int:
        """How many items the store itself calls done, with their results where the engine keeps them."""

    def before_work(self) -> None:
        """Between creating and processing, outside of both times: what the database would do by itself a little later."""
        return

    def fan_out(self, count: int) -> None:
        """Create items and note, through the engine's own fan-in, when all are done. Without one, the store is asked."""
        before, ran = self.finished(), tally.counted().count
        self.enqueue(count)
        patiently(lambda: tally.counted().count >= ran + count)
        patiently(lambda: self.finished() >= before + count)
        tally.fanned_in(self.finished() - before)

    def close(self) -> None:
        """Let go of connections."""
        return

    def run(self, scenario: str, items: int) -> Run:
        """One measured run in this process."""
        self.prepare()
        try:
            return drained(self, items) if scenario == "drain" else fanned(self, items)
        finally:
            self.close()


def drained(engine: Engine, items: int) -> Run:
    """Create items while no worker runs, then take the time from the first handler's start until all results are kept."""
    began = time.monotonic()
    engine.enqueue(items)
    created = time.monotonic()
    engine.before_work()
    with Workers(engine.commands()) as workers:
        patiently(lambda: tally.counted().count >= items, workers.check)
        patiently(lambda: engine.finished() >= items, workers.check)
        ended = time.monotonic()
    counted = tally.counted()
    demand("results are in the store", engine.finished(), items)
    return Run(items, create_seconds=created - began, process_seconds=ended - counted.first_at)


def fanned(engine: Engine, items: int) -> Run:
    """With workers that are up and warm, take the time from the fan-out until the fan-in has seen all results."""
    with Workers(engine.commands()) as workers:
        engine.enqueue(WARM_ITEMS)
        patiently(lambda: engine.finished() >= WARM_ITEMS, workers.check)
        before = tally.counted().count
        tally.forget()
        began = time.monotonic()
        engine.fan_out(items)
        patiently(lambda: bool(tally.fan_ins()), workers.check)
    fan_in, counted = tally.fan_ins()[0], tally.counted()
    demand("handlers ran", counted.count - before, items, or_more=True)
    demand("results reached the fan-in", fan_in.seen, items)
    return Run(items, fanned_seconds=fan_in.at - began, fan_in_seconds=fan_in.at - counted.last_at)


def demand(what: str, found: int, wanted: int, *, or_more: bool = False) -> None:
    """All of them, or it does not count."""
    if found < wanted or (found > wanted and not or_more):
        raise Incomplete(f"{found} of {wanted} {what}")


def patiently(
    condition: Callable[[], bool], check: Callable[[], None] | None = None, seconds: float = PATIENCE_SECONDS
) -> None:
    """Look often enough to be exact, and seldom enough to leave the cores to those who work."""
    end = time.monotonic() + seconds
    while not condition():
        if check is not None:
            check()
        if time.monotonic() > end:
            raise Incomplete(f"not done within {seconds:g} s; {tally.counted().count} handlers ran")
        time.sleep(LOOK_SECONDS)
