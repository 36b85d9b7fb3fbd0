"""The model of large fleets: it counts what workers do, and its server has the limits of a real one."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter

import pytest

from benchmarks.scale import costs as measured
from benchmarks.scale.costs import Cost, Costs
from benchmarks.scale.model import Fleet, Model, Rules
from benchmarks.scale.server_work import Work, kind_of
from benchmarks.scale.tables import of_work
from fanfold.engine.worker.fleet_pace import FleetPace

CHEAP = Cost(0.001, 0.0001, 100.0)
READ = dataclasses.replace(CHEAP, log_bytes=0.0)
COSTS = Costs(
    turn={1: Cost(0.002, 0.001, 1_000.0), 10: Cost(0.003, 0.002, 10_000.0), 100: Cost(0.02, 0.011, 100_000.0)},
    beat=CHEAP,
    held=READ,
    look=READ,
    duty=READ,
    batches=READ,
    sweep=CHEAP,
    submit=CHEAP,
    notify={1: READ, 80: Cost(0.001, 0.01, 0.0)},
    per_locked_item=0.0,
    per_claimed_item=0.0,
    bytes_per_item=400.0,
)


def test_a_fleet_with_time_to_spare_does_all_that_its_slots_allow() -> None:
    """10 workers with 8 slots and handlers of a second: 80 items per second."""
    found = Model(Fleet(10), COSTS).run(20.0)
    assert found.items_per_second == pytest.approx(80, rel=0.1)
    assert found.operations["beat"] == pytest.approx(10 * 20 / 4, rel=0.15)
    assert found.operations["check"] == pytest.approx(10 * 20 / 0.5, rel=0.1)


def test_a_full_server_does_what_its_cores_allow() -> None:
    """Then more workers do not help, and everybody waits."""
    full = [Model(Fleet(workers, handler_seconds=0.0, cores=1), COSTS).run(5.0) for workers in (100, 200)]
    for found in full:
        assert found.cores == pytest.approx(1.0, rel=0.05)
    assert full[0].items_per_second == pytest.approx(full[1].items_per_second, rel=0.1)
    assert full[1].slowest["beat"] > full[0].slowest["beat"]


def test_connections_are_a_limit_too() -> None:
    """A commit keeps its connection until the log is flushed."""
    few, many = (
        Model(Fleet(50, handler_seconds=0.0, connections=count, flush_seconds=0.02, cores=64), COSTS).run(5.0)
        for count in (2, 50)
    )
    assert many.items_per_second > 5 * few.items_per_second


def test_the_herd_after_a_notification_bends_an_unpaced_fleet_first() -> None:
    """Every worker polls after every notification, unless the fleet shares them."""
    herd, paced = (
        Model(Fleet(2_000, busy=False, submits_per_second=2.0, cores=64, rules=Rules(paced=paced)), COSTS).run(10.0)
        for paced in (False, True)
    )
    assert herd.operations["poll after a hint"] == pytest.approx(2_000 * herd.submitted, rel=0.2)
    assert herd.cores_for("poll after a hint") > 3 * paced.cores_for("poll after a hint")
    assert len(paced.starts) >= paced.submitted - 2


def test_the_same_seed_gives_the_same_run() -> None:
    """So that two sets of rules differ by nothing else."""
    assert Model(Fleet(20), COSTS).run(5.0) == Model(Fleet(20), COSTS).run(5.0)


def test_the_model_has_the_rules_of_the_engine() -> None:
    """Its paced rules follow `FleetPace`."""
    rules, dice = Rules(), random.Random(1)
    for workers in (10, 50, 51, 400, 3_000, 10_000):
        pace = FleetPace()
        pace.counted(workers)
        real = sum(pace.poll_seconds(rules.poll) for _ in range(2_000)) / 2_000
        assert rules.polls_every(workers) == pytest.approx(real, rel=0.03)
        assert rules.checks_every(workers) == pytest.approx(max(rules.check, pace.check_seconds(rules.beat)))
        waits = [rules.follows_after(workers, dice) for _ in range(2_000)]
        pace._followed_at = 1e18  # Has just followed one, so this is the wait of all others.
        others = [pace.seconds_to_follow() for _ in range(2_000)]
        assert max(waits) == pytest.approx(max(others), rel=0.05)


def test_costs_survive_a_file() -> None:
    """`--costs` writes and reads them."""
    assert measured.load(COSTS.dump()) == COSTS


def test_the_statements_of_a_run_are_told_apart_and_their_shares_shown() -> None:
    found = Work(waits=Counter(processor=6, WALSync=2), waiting_clients=[0, 4])
    for text, seconds in (
        ("UPDATE workers SET seen_at = now()", 1),
        ("WITH candidate AS (SELECT id FROM items LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED) UPDATE items", 6),
        ("UPDATE items\n SET state = $1", 2),
        ("SELECT version_num FROM alembic_version", 1),
    ):
        found.calls[kind_of(text)] += 2
        found.seconds[kind_of(text)] += seconds
    shown = of_work(found)
    assert "| claims | 2 | 60% | 3000.0 ms |" in shown
    assert "| settlements | 2 | 20% | 1000.0 ms |" in shown
    assert "| heartbeats and registration | 2 | 10% |" in shown
    assert "| others | 2 | 10% |" in shown
    assert "processor 3.0, WALSync 1.0" in shown
    assert "2.0 on average, 4 at most" in shown
