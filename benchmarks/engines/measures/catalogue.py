"""The measures by name, each run on both stores; a failed one is named and the others continue."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks.engines.contestants import Store
from benchmarks.engines.installation import Figure, Place
from benchmarks.engines.measures import footprint, growth, latency, pace, throughput
from benchmarks.engines.servers import Servers

Measure = Callable[[Place], Iterator[Figure]]
STORES: tuple[Store, ...] = ("PostgreSQL", "SQLite")
MEASURES: dict[str, Measure] = {
    measure.__name__: measure
    for measure in (
        throughput.ten_thousand_merged,
        throughput.end_to_end,
        throughput.creating,
        latency.submit_to_start_elsewhere,
        latency.submit_to_start_here,
        latency.fan_in_delay,
        footprint.idle_worker,
        footprint.thousand_in_flight,
        footprint.start_times,
        growth.cost_per_item,
        growth.many_tasks,
        growth.progress_query,
        growth.after_a_drain,
        growth.beside_finished,
        pace.paced_load,
    )
}
QUICK = ["ten_thousand_merged", "creating", "submit_to_start_elsewhere", "start_times"]
"""What a quick run has the time for."""


def take(
    servers: Servers, names: Sequence[str], scale: float, long: bool, until: float, tell: Callable[[str], None]
) -> tuple[list[Figure], dict[str, str]]:
    """The figures, and what could not be measured and why; nothing is begun after ``until``."""
    figures: list[Figure] = []
    problems: dict[str, str] = {}
    for name in names:
        for store in STORES:
            if time.monotonic() > until:
                problems[f"{name}, {store}"] = "the time was over"
                continue
            try:
                for figure in MEASURES[name](Place(servers, store, scale, long)):
                    tell(f"{store}: {figure.what}: {figure.value:,.1f} {figure.unit}")
                    figures.append(figure)
            except Exception as error:
                problems[f"{name}, {store}"] = f"{type(error).__name__}: {error}"
                tell(f"{store}: {name} failed: {error}")
    return figures, problems
