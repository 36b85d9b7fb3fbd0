"""Runs one seed and returns its outcome."""

from __future__ import annotations

import gc
import hashlib
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tests.databases import Databases
from tests.simulation.database import SimulatedStore
from tests.simulation.world import World, opened

COLLECT_AFTER = 25
"""Seeds."""


@dataclass(frozen=True)
class Outcome:
    """One seed and what it showed."""

    seed: int
    problem: str
    digest: str
    """The hash of the whole trace, if it was asked for: the same seed gives the same."""
    commits: int
    moments: int
    struck: Counter[str]


def play(store: SimulatedStore, seed: int, *, trace: bool = False, with_digest: bool = False) -> Outcome:
    """Run one seed in an empty database."""
    world = World(store, seed)
    problem = ""
    try:
        world.run()
    except BaseException as error:
        problem = f"{type(error).__name__}: {error}"
        if not isinstance(error, Exception):
            raise
    if trace:
        print(f"seed {seed}: {world.features}; {world.faults.odds}")
        print("\n".join(map(str, world.schedule.trace)))
    said = world.schedule.trace if with_digest else []
    digest = hashlib.sha256("\n".join(map(str, said)).encode()).hexdigest()
    return Outcome(seed, problem, digest, world.watch.looks, len(world.schedule.trace), world.faults.counted)


def play_many(databases: Databases, folder: Path, seeds: list[int], trace: bool = False) -> list[Outcome]:
    """Run many seeds, one after the other, in one database that is emptied before each."""
    with databases.fresh() as url, opened(url, folder) as store, on_one_core(), collected_now_and_then() as collect:
        return [collect(play(store, seed, trace=trace)) for seed in seeds]


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keep the threads that pass the baton on one core: only one of them runs anyway, and waking another core takes as long."""
    if sys.platform != "linux":
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(allowed)[os.getpid() % len(allowed)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@contextmanager
def collected_now_and_then() -> Iterator[Callable[[Outcome], Outcome]]:
    """Statements leave many cycles behind; looking for them all the time would take a third of the run."""
    played = count(1)

    def collect(outcome: Outcome) -> Outcome:
        if next(played) % COLLECT_AFTER == 0:
            gc.collect()
        return outcome

    was_on = gc.isenabled()
    gc.disable()
    try:
        yield collect
    finally:
        if was_on:
            gc.enable()


def play_share(share: tuple[Databases, Path, list[int], bool]) -> list[Outcome]:
    """The same, for a pool of processes."""
    return play_many(*share)
