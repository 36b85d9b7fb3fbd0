"""What came of a seed? One run, told as an outcome."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.databases import Databases
from tests.simulation.database import SimulatedStore
from tests.simulation.world import World, opened


@dataclass(frozen=True)
class Outcome:
    """One seed and what it showed."""

    seed: int
    problem: str
    digest: str
    """Of the whole trace, where it was asked for: the same seed gives the same."""
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
        print(f"seed {seed}: {world.faults.odds}")
        print("\n".join(map(str, world.schedule.trace)))
    said = world.schedule.trace if with_digest else []
    digest = hashlib.sha256("\n".join(map(str, said)).encode()).hexdigest()
    return Outcome(seed, problem, digest, world.watch.looks, len(world.schedule.trace), world.faults.counted)


def play_many(databases: Databases, folder: Path, seeds: list[int], trace: bool = False) -> list[Outcome]:
    """Run many seeds, one after the other, in one database that is emptied before each."""
    with databases.fresh() as url, opened(url, folder) as store:
        return [play(store, seed, trace=trace) for seed in seeds]
