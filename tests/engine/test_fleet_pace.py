"""The pace of a worker in small and large fleets: everything at once in small ones, shared budgets in large ones."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from fanfold.engine.tasks.recovery.sweep import take_duty
from fanfold.engine.worker import fleet_pace
from fanfold.engine.worker.fleet_pace import FleetPace
from tests.engine.live import Live
from tests.engine.pipelines import one_step
from tests.installation import HandClock, Installation
from tests.waiting import eventually

LARGE = 10_000


def fleet(workers: int) -> list[FleetPace]:
    """The paces of all workers of a fleet that have counted each other."""
    made = [FleetPace() for _ in range(workers)]
    for one in made:
        one.counted(workers)
    return made


def test_a_small_fleet_follows_every_hint_at_once() -> None:
    """Nothing is slower than with one worker."""
    for pace in fleet(fleet_pace.SMALL_FLEET):
        assert [pace.seconds_to_follow() for _ in range(3)] == [0.0, 0.0, 0.0]
        assert (pace.poll_seconds(2.0), pace.seconds_after_due(), pace.check_seconds(4.0)) == (2.0, 0.0, 0.0)
        assert pace.listens


def test_a_large_fleet_follows_a_hint_one_after_the_other() -> None:
    """A few at once, so that small tasks start at once, and the others within the budget of the fleet."""
    waits = [pace.seconds_to_follow() for pace in fleet(LARGE)]
    at_once = sum(wait == 0.0 for wait in waits)
    assert 10 <= at_once <= 5 * fleet_pace.SMALL_FLEET
    within_a_second = sum(0.0 < wait <= 1.0 for wait in waits)
    assert within_a_second <= 1.5 * fleet_pace.FOLLOWS_PER_SECOND
    assert max(waits) <= fleet_pace.LONGEST_POLL_SECONDS


def test_many_hints_do_not_make_a_worker_poll_more_often() -> None:
    """A worker that has followed a hint at once leaves the next ones to others for a while."""
    pace = fleet(LARGE)[0]
    with patch("random.random", lambda: 0.0):
        waits = [pace.seconds_to_follow() for _ in range(20)]
    assert waits[0] == 0.0
    assert all(wait > 0.0 for wait in waits[1:])


def test_idle_polls_of_all_workers_stay_within_a_budget() -> None:
    """However many there are, and no worker waits for more than a minute."""
    for workers in (100, 1_000, 3_000):
        intervals = [pace.poll_seconds(2.0) for pace in fleet(workers)]
        assert sum(1 / interval for interval in intervals) <= 1.2 * fleet_pace.POLLS_PER_SECOND
    assert max(pace.poll_seconds(2.0) for pace in fleet(LARGE)) <= 1.25 * fleet_pace.LONGEST_POLL_SECONDS


def test_a_few_hundred_workers_of_a_large_fleet_listen() -> None:
    """Enough that somebody always hears, and the same ones as long as the fleet has its size."""
    paces = fleet(LARGE)
    listening = [pace for pace in paces if pace.listens]
    assert fleet_pace.LISTENERS / 2 <= len(listening) <= fleet_pace.LISTENERS * 2
    assert [pace for pace in paces if pace.listens] == listening


def test_workers_are_counted_now_and_then() -> None:
    """A large fleet counts less often, because a count reads all workers."""
    pace = FleetPace()
    assert pace.must_count()
    pace.counted(3)
    assert not pace.must_count()
    with patch("time.monotonic", lambda: pace._counted_at + fleet_pace.COUNT_SECONDS):
        assert pace.must_count()
        pace.workers = LARGE
        assert not pace.must_count()


def test_a_worker_of_a_large_fleet_follows_a_hint_when_it_is_its_turn(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the next poll is a day away, so only the announcement can have woken it."""
    monkeypatch.setattr(fleet_pace, "LONGEST_POLL_SECONDS", 86_400.0)
    monkeypatch.setattr(fleet_pace, "POLLS_PER_SECOND", LARGE / 86_400.0)
    monkeypatch.setattr(fleet_pace, "FOLLOWS_PER_SECOND", LARGE * 10.0)
    monkeypatch.setattr(FleetPace, "listens", True)
    monkeypatch.setattr(FleetPace, "counted", lambda pace, workers: setattr(pace, "workers", LARGE))
    pipeline = live.know(one_step(lambda task: "done", "report"))
    with live.working() as worker:
        eventually(lambda: worker._wake_ups.pace.workers == LARGE)
        for _ in range(3):
            live.until(live.client.submit(pipeline), "completed")


def test_only_live_workers_count(installation: Installation, clock: HandClock) -> None:
    """Those whose lease has ended are no part of the fleet."""
    with installation.store.write() as tx:
        tx.workers.register("old", "here", 1, [], 1)
    clock.advance(60)
    with installation.store.write() as tx:
        tx.workers.register("new", "here", 1, [], 1)
        assert tx.workers.count_alive(15.0) == 1


def test_asking_for_a_duty_in_vain_writes_nothing(installation: Installation, clock: HandClock) -> None:
    """Thousands of workers ask, and a row lock would make them wait for each other."""
    assert take_duty(installation.store, "recover", 5.0, force=False)
    with patch.object(installation.store, "write", side_effect=AssertionError("a write")):
        assert not take_duty(installation.store, "recover", 5.0, force=False)
    clock.advance(5.0)
    assert take_duty(installation.store, "recover", 5.0, force=False)


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_nobody_waits_for_a_turn_that_somebody_is_taking(installation: Installation, clock: HandClock) -> None:
    """A frozen process that holds the row would otherwise stop the sweeps, and fill a pooler with those who wait."""
    assert take_duty(installation.store, "recover", 5.0, force=False)
    clock.advance(6)
    with installation.store.write() as tx:
        assert tx.recovery.take_duty("recover", 5.0)
        assert not take_duty(installation.store, "recover", 5.0, force=False)
        assert take_duty(installation.store, "recover", 5.0, force=True)
        with installation.store.write() as other:
            other.recovery.give_back_duty("recover", 5.0)
    assert not take_duty(installation.store, "recover", 5.0, force=False)
