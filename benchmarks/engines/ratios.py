"""Compares rates within each round and takes the median of the ratios."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from benchmarks.engines.contestants import FANFOLD, Contestant, Store, raw
from benchmarks.engines.engine import Run
from benchmarks.engines.rounds import Results

RAW_BATCH = 100


@dataclass(frozen=True)
class Spread:
    """The median of some rounds, the smallest and the largest."""

    median: float
    least: float
    most: float


def spread(values: list[float]) -> Spread | None:
    """Nothing, if nothing was measured."""
    return Spread(statistics.median(values), min(values), max(values)) if values else None


def rate(run: Run, scenario: str) -> float:
    """Items per second."""
    seconds = run.process_seconds if scenario == "drain" else run.fanned_seconds
    return run.items / seconds if seconds else 0.0


def rates(results: Results, name: str, scenario: str = "drain") -> dict[int, float]:
    """Items per second by round."""
    return {number: rate(run, scenario) for number, run in results.of(name, scenario).items()}


def creation(results: Results, name: str) -> Spread | None:
    """Items created per second."""
    runs = results.of(name, "drain").values()
    return spread([run.items / run.create_seconds for run in runs if run.create_seconds])


def fanfold_rates(results: Results, store: Store, scenario: str) -> dict[int, float]:
    """The faster of one and two processes, by round; engines on Redis are compared with Fanfold on PostgreSQL."""
    wanted = "SQLite" if store == "SQLite" else "PostgreSQL"
    best: dict[int, float] = {}
    for contestant in FANFOLD:
        if contestant.store == wanted:
            for number, found in rates(results, contestant.name, scenario).items():
                best[number] = max(found, best.get(number, 0.0))
    return best


def fanfold_ahead(results: Results, contestant: Contestant, scenario: str = "drain") -> Spread | None:
    """How many times faster Fanfold was."""
    own = rates(results, contestant.name, scenario)
    return compared(fanfold_rates(results, contestant.store, scenario), own)


def share_of_raw(results: Results, contestant: Contestant) -> Spread | None:
    """The rate as a share of the raw statements on the same store, with as many processes and batches of 100."""
    if contestant.store == "Redis":
        return None
    limit = raw(contestant.store, RAW_BATCH, contestant.processes)
    return compared(rates(results, contestant.name), rates(results, limit.name))


def compared(above: dict[int, float], below: dict[int, float]) -> Spread | None:
    """Ratios within the rounds that both have."""
    return spread([above[number] / below[number] for number in sorted(above.keys() & below.keys()) if below[number]])
