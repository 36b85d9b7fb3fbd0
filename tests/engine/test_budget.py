"""A step that never fits into a tick is held for a person instead of starting again forever."""

import asyncio
from functools import partial
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.recovery.tick import tick
from fanfold.engine.worker.attempt.attempt_result import OutOfTime
from fanfold.engine.worker.stop_times import StopTimes
from tests.engine.live import Live
from tests.waiting import eventually

BUDGET = 1.0


class Slow:
    """A pipeline whose step takes longer than any tick of the test."""

    def __init__(self, *, progress: bool = False, **rules: Any) -> None:
        self.starts = 0
        self.quick = False
        self.pipeline = ff.Pipeline("slow")

        @self.pipeline.step(timeout=120, **rules)
        async def render(task: ff.TaskWork) -> str:
            self.starts += 1
            if progress:
                await asyncio.to_thread(task.progress, self.starts / 10)
            if not self.quick:
                await asyncio.sleep(60)
            return "done"


def ticked(live: Live, task: ff.Task) -> ff.Task:
    """The task after one more tick."""
    tick(live.store, live.pipelines, seconds=BUDGET)
    return live.client.get(task.id)


def run_ticks(live: Live, slow: Slow, starts: int) -> None:
    """Ticks, until that many of them have started the step: on a busy machine a short one may end before that."""

    def enough() -> bool:
        tick(live.store, live.pipelines, seconds=BUDGET)
        return has_begun(slow, starts)

    eventually(enough, 120)


def has_begun(slow: Slow, starts: int) -> bool:
    return slow.starts >= starts


def test_an_item_that_the_budget_cuts_off_again_and_again_waits_for_a_person(live: Live) -> None:
    slow = Slow()
    task = live.client.submit(live.know(slow.pipeline))
    eventually(lambda: ticked(live, task).held == 1, 120)
    starts = slow.starts
    for _ in range(3):
        tick(live.store, live.pipelines, seconds=BUDGET)
    assert slow.starts == starts
    now = live.client.get(task.id)
    assert (now.state, now.held) == ("active", 1)
    assert "give it more (--seconds)" in str(now.wait_reason)
    released = [event for event in live.client.events(task.id) if event.verb == "release"]
    assert [event.target for event in released] == ["pending"] * 3
    slow.quick = True
    live.client.retry(task.id)
    tick(live.store, live.pipelines, seconds=30)
    assert live.client.get(task.id).state == "completed"


def test_an_item_that_gets_on_in_every_tick_is_not_held(live: Live) -> None:
    slow = Slow(progress=True)
    task = live.client.submit(live.know(slow.pipeline))
    run_ticks(live, slow, 5)
    assert (slow.starts, live.client.get(task.id).held) == (5, 0)


@pytest.mark.parametrize("how", ["pause", "stop"])
def test_only_the_end_of_a_budget_is_counted(live: Live, how: str) -> None:
    slow = Slow()
    task = live.client.submit(live.know(slow.pipeline))
    for turn in range(1, 5):
        with live.working():
            eventually(partial(has_begun, slow, turn), 60)
            if how == "pause":
                live.client.pause(task.id)
                live.item_is(task, "pending")
        if how == "pause":
            live.client.resume(task.id)
    assert live.client.get(task.id).held == 0
    assert [event for event in live.client.events(task.id) if event.verb == "release"] == []


def test_an_item_that_began_late_in_the_budget_is_handed_back_without_being_counted(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may fit into the next tick, where it is first. Here every attempt counts as late."""
    monkeypatch.setattr(StopTimes, "cut_off", lambda _times, limit: OutOfTime("too slow", limit, begun_by=0.0))
    slow = Slow()
    task = live.client.submit(live.know(slow.pipeline))
    run_ticks(live, slow, 4)
    assert live.client.get(task.id).held == 0
    assert [event for event in live.client.events(task.id) if event.verb == "release"] == []


def test_a_stage_that_never_fits_the_budget_is_named_in_the_report(live: Live) -> None:
    slow = Slow(takes=50)
    live.client.submit(live.know(slow.pipeline))
    report = tick(live.store, live.pipelines, seconds=5)
    assert (slow.starts, report.too_long) == (0, ("slow.render",))
    assert "slow.render" in str(report)


def test_a_task_says_that_ticks_leave_its_stage_out(live: Live) -> None:
    """Also during a tick: it does not serve what it will not start."""
    slow, quick, seen = Slow(takes=50), ff.Pipeline("quick"), []
    task = live.client.submit(live.know(slow.pipeline))

    @quick.step
    def look(_: ff.TaskWork) -> None:
        seen.append(live.client.get(task.id).wait_reason)

    live.client.submit(live.know(quick))
    tick(live.store, live.pipelines, seconds=40)
    seen.append(live.client.get(task.id).wait_reason)
    assert seen == ["no worker serves stage render; a tick starts it only with more than 50 s"] * 2


def test_an_item_of_a_task_that_was_paused_meanwhile_is_only_handed_back(live: Live) -> None:
    slow = Slow()
    task = live.client.submit(live.know(slow.pipeline))
    run_ticks(live, slow, 2)
    worker = live.worker()
    [one] = worker.claim()
    live.client.pause(task.id)
    with live.store.write() as tx:
        assert tx.settling.count_hand_back(one.id, one.lease) is None
        assert tx.settling.count_hand_back(one.id, one.lease - 1) is None
