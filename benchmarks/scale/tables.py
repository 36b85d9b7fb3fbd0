"""The figures as Markdown: measured costs, the model's fleets, and a real run beside the model."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from benchmarks.scale.costs import Cost, Costs
from benchmarks.scale.model import Fleet, Model, Outcome, Rules
from benchmarks.scale.real_fleet import Run
from benchmarks.scale.server_work import Work

WORKERS = (10, 100, 1_000, 10_000)
ITEMS = (1, 10_000, 1_000_000, 100_000_000)
HERE = 2
"""Cores of the machine that real runs were made on."""


def of_costs(costs: Costs) -> str:
    """What each operation costs the server."""
    named: list[tuple[str, Cost]] = [
        *((f"settle and claim {size} items", one) for size, one in sorted(costs.turn.items())),
        ("heartbeat", costs.beat),
        ("check that running items are wanted", costs.held),
        ("poll for work", costs.look),
        ("ask for the turn to sweep", costs.duty),
        ("ask for due batches", costs.batches),
        ("sweep, nothing to recover", costs.sweep),
        ("a task of one item: submit, two turns, advance", costs.submit),
        *((f"notify {count} listeners", one) for count, one in sorted(costs.notify.items())),
    ]
    rows = [
        (name, f"{one.seconds * 1e3:.1f} ms", f"{one.processor * 1e3:.2f} ms", f"{one.log_bytes:,.0f}")
        for name, one in named
    ]
    passed = f"{costs.per_locked_item * 1e6:.1f} µs for each item held by another claim"
    return _table(("operation", "time", "server's processor", "bytes of log"), rows) + (
        f"\nA claim that begins at the start pays {passed}, and {costs.per_claimed_item * 1e6:.1f} µs for each item"
        f"\nclaimed since the last VACUUM. A finished item takes {costs.bytes_per_item:.0f} bytes on disk.\n"
    )


def of_model(costs: Costs, seconds: float) -> str:
    """Idle fleets, wake-ups and busy fleets, before and after."""
    return "\n".join((_idle(costs, seconds), _woken(costs, seconds), _busy(costs, seconds), _sizes(costs, seconds)))


def _idle(costs: Costs, seconds: float) -> str:
    rows = []
    for workers in WORKERS:
        for rules in (Rules(paced=False), Rules()):
            found = Model(Fleet(workers, busy=False, cores=64, connections=1_000, rules=rules), costs).run(seconds)
            parts = [found.cores_for(*names) for names in (("poll",), ("beat",), ("duty", "sweep"), ("batches",))]
            asked = f"{sum(found.operations.values()) / seconds:,.0f}"
            rows.append((f"{workers:,}", _rule(rules), asked, *(f"{part:.2f}" for part in parts), f"{found.cores:.2f}"))
    head = ("workers", "rules", "operations/s", "polls", "heartbeats", "sweeps", "batches", "cores in all")
    return "Idle fleets: cores of the server in use.\n\n" + _table(head, rows)


def _woken(costs: Costs, seconds: float) -> str:
    rows = []
    for workers in WORKERS:
        for rules in (Rules(paced=False), Rules()):
            fleet = Fleet(workers, busy=False, submits_per_second=5.0, rules=rules, connections=200)
            found = Model(fleet, costs).run(seconds)
            claimed = f"{len(found.starts)} of {found.submitted}"
            wait = f"{statistics.median(found.starts) * 1e3:,.0f} ms" if found.starts else "none"
            late = f"{found.slowest['beat']:.1f} s"
            rows.append((f"{workers:,}", _rule(rules), f"{found.cores:.2f}", claimed, wait, late))
    head = ("workers", "rules", "cores in use of 8", "tasks seen", "median wait", "slowest heartbeat")
    return "Five small tasks per second for an idle fleet, on a server with 8 cores.\n\n" + _table(head, rows)


def _busy(costs: Costs, seconds: float) -> str:
    rows = []
    for workers in WORKERS:
        for handler in (0.0, 1.0, 10.0):
            found = _busy_fleet(costs, workers, handler, seconds)
            beside = found.cores - found.cores_for("turn")
            possible = "" if not handler else f"{found.items_per_second / (workers * 8 / handler):.0%}"
            rows.append(
                (f"{workers:,}", f"{handler:g} s", f"{found.items_per_second:,.0f}", possible, f"{found.cores:.2f}",
                 f"{beside:.2f}", f"{found.log_bytes / seconds / 1e6:.1f} MB", f"{found.slowest['beat']:.1f} s")
            )  # fmt: skip
    head = ("workers", "handler", "items/s", "of possible", "cores of 8", "beside turns", "log/s", "slowest heartbeat")
    return "Busy fleets with 8 slots each, on a server with 8 cores.\n\n" + _table(head, rows)


def _busy_fleet(costs: Costs, workers: int, handler: float, seconds: float) -> Outcome:
    return Model(Fleet(workers, handler_seconds=handler), costs).run(min(seconds, 10.0))


def _sizes(costs: Costs, seconds: float) -> str:
    """How long a task takes: its items over the throughput of the fleet, and at least as long as one handler."""
    paces = {workers: _busy_fleet(costs, workers, 1.0, seconds).items_per_second for workers in WORKERS}
    rows = [
        (f"{items:,}", *(_time(max(1.0, items / pace)) for pace in paces.values()), _size(items * costs.bytes_per_item))
        for items in ITEMS
    ]
    head = ("items of 1 s", *(f"{workers:,} workers" for workers in WORKERS), "on disk")
    return "One task, on the same fleets.\n\n" + _table(head, rows)


def of_queries(many: int, found: dict[str, dict[str, tuple[float, float]]]) -> str:
    """Median and slowest time of each query, by database."""
    names = list(next(iter(found.values())))
    rows = [(name, *(f"{times[name][0]:.1f} / {times[name][1]:.0f} ms" for times in found.values())) for name in names]
    return f"Queries beside {many:,} tasks, median / slowest.\n\n" + _table(("50 tasks", *found), rows)


def of_run(costs: Costs, pooled: Costs, run: Run, *, slots: int, handler_seconds: float) -> str:
    """A real run, and what the model says: of a server of its own, and of this machine with what else ran on it."""
    alone = Model(Fleet(run.workers, slots, handler_seconds, cores=HERE, connections=20), costs).run(10.0)
    slowness = HERE / max(0.1, HERE - run.others_cores)
    here = Fleet(
        run.workers, slots, handler_seconds, cores=HERE, connections=20,
        worker_processor=run.worker_processor, slowness=slowness,
    )  # fmt: skip
    shared = Model(here, pooled).run(60.0, warm_up=20.0)
    models = (shared, alone)
    rows = [
        ("items per second", f"{run.items / run.seconds:,.0f}", *(f"{one.items_per_second:,.0f}" for one in models)),
        ("server's processor per item", _each(run.server_cores * run.seconds / run.items),
         *(_each(one.cores / max(one.items_per_second, 1e-9)) for one in models)),
        ("workers' processor per item", _each(run.worker_processor), "given", "not counted"),
        ("cores of the server in use", f"{run.server_cores:.2f}", *(f"{one.cores:.2f}" for one in models)),
        ("cores used by other programs", f"{run.others_cores:.2f}", "given", "none"),
        ("bytes of log per item", f"{run.log_bytes_per_item:,.0f}",
         *(f"{one.log_bytes / max(1, one.items):,.0f}" for one in models)),
        ("most server connections", str(run.most_connections), "20 + 1", "20 + 1"),
        ("attempts, results of the merge", f"{run.attempts:,}, {run.result:,}", *[f"{run.items:,}, {run.items:,}"] * 2),
    ]  # fmt: skip
    fleet = f"{run.workers} workers, {run.items:,} items, {run.seconds:.0f} s"
    head = (fleet, "real", "model of this machine", "model of a server alone")
    return "A real run through PgBouncer beside the model.\n\n" + _table(head, rows)


def of_work(work: Work) -> str:
    """What the server of a real run did: elapsed time by kind of statement, and what its connections waited for."""
    everything, looks = max(sum(work.seconds.values()), 1e-9), max(1, len(work.waiting_clients))
    rows = [
        (
            kind,
            f"{work.calls[kind]:,}",
            f"{seconds / everything:.0%}",
            f"{seconds / max(1, work.calls[kind]) * 1e3:.1f} ms",
        )
        for kind, seconds in sorted(work.seconds.items(), key=lambda one: -one[1])
    ]
    waits = ", ".join(f"{name} {count / looks:.1f}" for name, count in work.waits.most_common(6))
    waiting = f"{sum(work.waiting_clients) / looks:.1f} on average, {max(work.waiting_clients, default=0)} at most"
    return (
        "The server meanwhile.\n\n"
        + _table(("statements", "calls", "of their time", "each"), rows)
        + (
            f"\nBusy connections, on average, by what they wait for: {waits}."
            f"\nWorkers' connections that wait for one of the server: {waiting}.\n"
        )
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _rule(rules: Rules) -> str:
    return "paced" if rules.paced else "each for itself"


def _each(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"


def _time(seconds: float) -> str:
    for unit, size in (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} s"


def _size(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:,.0f} {unit}"
    return f"{count:,.0f} B"
