"""Runs of the engine for tests end when nothing is left to do, not before, and the clock advances to whatever is due."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import fanfold as ff
from fanfold.testing import Engine, NeverAtRest
from fanfold.testing.clock import BEGINNING
from tests.testing.refusing import refusing_once

HOUR = 3_600.0


@ff.task
def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


flaky = ff.Pipeline("flaky")


@flaky.each(retry=ff.Retry(limit=5, first=10))
def work(item: ff.ItemWork) -> int:
    """Good at the second attempt."""
    if item.attempt == 1:
        raise ff.Temporary("not yet")
    return item.attempt


@pytest.mark.parametrize("moment", ["before_handler", "before_settle", "after_settle"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_run_goes_on_after_a_crash_until_every_retry_is_made(engine: Engine, moment: str, count: int) -> None:
    getattr(engine, moment)(count=count).crash()
    task = engine.submit(flaky, items=[1, 2])
    engine.run()
    assert [str(item.state) for item in engine.items(task)] == ["done", "done"]
    assert engine.task(task).state == "completed"


def test_a_point_that_is_not_reached_does_not_end_the_run(engine: Engine) -> None:
    engine.after_settle(item="no such item").crash()
    task = engine.submit(flaky, items=[1])
    engine.run()
    assert engine.result(task) == [2]


def test_a_crash_inside_a_handler_leaves_the_retries_of_other_items(engine: Engine) -> None:
    crashing = ff.Pipeline("crashing")

    @crashing.each(retry=ff.Retry(limit=5, first=10))
    def crash_once(item: ff.ItemWork) -> int:
        if item.attempt == 1 and item.key == "2":
            engine.crash()
        if item.attempt == 1:
            raise ff.Temporary("not yet")
        return item.attempt

    engine.after_settle().call(lambda: None)
    task = engine.submit(crashing, items=[1, 2, 3])
    engine.run()
    assert engine.result(task) == [2, 2, 2]


def test_a_task_with_a_delay_starts_when_it_is_due(engine: Engine) -> None:
    later, soon = engine.submit(double, 21, delay=HOUR), engine.submit(double, 4, delay=60)
    engine.run(advance_clock=False)
    assert [engine.task(task).status for task in (later, soon)] == ["scheduled", "scheduled"]
    assert engine.clock.seconds == 0
    engine.run()
    assert (engine.result(later), engine.result(soon)) == (42, 8)
    assert HOUR <= engine.clock.seconds < HOUR + 1
    (started,) = [event.at for event in engine.events(soon) if event.verb == "start"]
    assert started - BEGINNING < timedelta(seconds=61)


def test_a_task_with_a_start_time_starts_when_the_test_advances_the_clock(engine: Engine) -> None:
    task = engine.submit(double, 21, run_at=BEGINNING + timedelta(hours=1))
    engine.clock.advance(HOUR)
    engine.run(advance_clock=False)
    assert engine.result(task) == 42


def test_a_start_that_on_move_refuses_is_made_later(engine: Engine) -> None:
    mirrored, refused = refusing_once(lambda change: change.verb == "start")
    task = engine.submit(mirrored, delay=HOUR)
    engine.run()
    assert refused == ["start"]
    assert engine.result(task) == "made"


def test_a_schedule_submits_its_tasks_while_time_passes(engine: Engine) -> None:
    engine.client.schedules.add("hourly", "0 * * * *", double, 21)
    engine.run(seconds=3 * HOUR)
    runs = engine.client.schedules.get("hourly").runs
    assert [(run.due_at - BEGINNING).total_seconds() / HOUR for run in reversed(runs)] == [1, 2, 3]
    assert [engine.result(run.task) for run in runs if run.task] == [42, 42, 42]
    assert engine.clock.seconds == 3 * HOUR


def test_a_schedule_alone_does_not_keep_a_run_going(engine: Engine) -> None:
    engine.client.schedules.add("hourly", "0 * * * *", double, 21)
    engine.run()
    assert (engine.clock.seconds, engine.client.list()) == (0, [])
    engine.clock.advance(HOUR)
    engine.run()
    assert [str(task.state) for task in engine.client.list()] == ["completed"]


def test_the_clock_stops_at_each_due_time_on_its_way(engine: Engine) -> None:
    engine.client.schedules.add("hourly", "0 * * * *", double, 21)
    task = engine.submit(double, 1, delay=3.5 * HOUR)
    engine.run()
    assert engine.result(task) == 2
    assert [str(run.outcome) for run in engine.client.schedules.get("hourly").runs] == ["submitted"] * 3


def test_a_paused_schedule_does_not_stop_the_clock(engine: Engine) -> None:
    engine.client.schedules.add("hourly", "0 * * * *", double, 21)
    engine.client.schedules.pause("hourly")
    engine.run(seconds=2 * HOUR, attempts=5)
    assert (engine.clock.seconds, engine.client.list()) == (2 * HOUR, [])


def test_a_run_of_some_seconds_ends_with_them(engine: Engine) -> None:
    task, later = engine.submit(flaky, items=[1]), engine.submit(double, 1, delay=HOUR)
    engine.run(seconds=0.5)
    assert [str(item.state) for item in engine.items(task)] == ["retrying"]
    assert engine.clock.seconds == 0.5
    engine.run(seconds=HOUR - 1)
    assert engine.task(task).state == "completed"
    assert (engine.task(later).status, engine.clock.seconds) == ("scheduled", HOUR - 0.5)
    engine.run(seconds=0.5)
    assert (engine.result(later), engine.clock.seconds) == (2, HOUR)


@pytest.mark.parametrize("given", [{"seconds": -1}, {"seconds": float("inf")}, {"seconds": 1, "advance_clock": False}])
def test_an_impossible_time_is_refused(engine: Engine, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="seconds="):
        engine.run(**given)


child = ff.Pipeline("child")


@child.step
def draft(task: ff.TaskWork) -> str:
    """A draft that a person has to release."""
    return "a draft"


@child.step(gate=True)
def release(task: ff.TaskWork) -> str:
    """What the parent waits for."""
    return "released"


parent = ff.Pipeline("parent")


@parent.step
def ask_child(task: ff.TaskWork) -> Any:
    """Waits for the subtask."""
    return task.submit_subtask(child).result()


def test_a_run_ends_when_a_subtask_waits_for_a_person(engine: Engine) -> None:
    engine.know(child)
    task = engine.submit(parent)
    engine.run()
    (below,) = engine.client.list(parent=task.id)
    assert engine.clock.seconds == 0
    assert engine.task(task).wait_reason == f"waits for 1 subtask, such as {below.id}"
    assert engine.task(below).wait_reason == "waits for you before release"
    engine.client.resume(below.id)
    engine.run()
    assert engine.result(task) == "released"


def test_other_items_are_worked_on_while_a_subtask_waits_for_a_person(engine: Engine) -> None:
    engine.know(child)
    waiting, retrying = engine.submit(parent), engine.submit(flaky, items=[1])
    later = engine.submit(double, 1, delay=100 * HOUR)
    engine.run(attempts=50)
    assert (engine.result(retrying), engine.result(later)) == ([2], 2)
    assert engine.task(waiting).state == "active"


def test_a_subtask_whose_pipeline_is_not_known_says_so_and_starts_when_it_is(engine: Engine) -> None:
    below = ff.Pipeline("below")
    below.step(name="make")(lambda task: 4)
    above = ff.Pipeline("above", subtasks=[below])
    above.step(name="get")(lambda task: task.submit_subtask(below).result())
    task = engine.submit(above)
    engine.run()
    with pytest.raises(ff.TaskStopped) as caught:
        engine.result(task)
    assert "(below) is pending, 1 open: no worker serves stage make" in caught.value.__notes__[0]
    engine.know(below)
    engine.run()
    assert engine.result(task) == 4


def test_a_missing_result_says_what_waits_for_whom(engine: Engine) -> None:
    engine.know(child)
    task = engine.submit(parent)
    engine.run()
    (below,) = engine.client.list(parent=task.id)
    with pytest.raises(ff.TaskStopped) as caught:
        engine.result(task)
    (note,) = caught.value.__notes__
    assert f"{task.id} (parent) is ask_child, 1 open: waits for 1 subtask, such as {below.id}" in note
    assert f"{below.id} (child) is waiting, 1 open: waits for you before release" in note


def test_a_run_without_an_end_says_what_each_task_waits_for(engine: Engine) -> None:
    endless = ff.Pipeline("endless")

    @endless.step
    async def poll(task: ff.TaskWork) -> Any:
        return await task.external(start=lambda key: key, look=lambda job: ff.later(10))

    engine.know(child)
    task, waiting = engine.submit(endless), engine.submit(parent)
    with pytest.raises(NeverAtRest) as caught:
        engine.run(attempts=20)
    assert f"{task.id} (endless)" in str(caught.value)
    assert f"{waiting.id} (parent) is ask_child, 1 open: waits for 1 subtask" in str(caught.value)


def test_a_retry_of_a_task_with_only_open_items_does_not_count_none(engine: Engine) -> None:
    engine.after_settle(count=1).cancel()
    task = engine.submit(flaky, items=[1, 2])
    engine.run()
    engine.client.retry(task.id)
    (reason,) = [event.reason for event in engine.events(task) if event.verb == "retry"]
    assert reason is None
    engine.run()
    engine.client.retry(task.id, ["1"])
    assert [event.reason for event in engine.events(task) if event.verb == "retry"] == [None, "1 item of work: 1"]


def test_an_event_says_that_it_does_not_name_all_items(engine: Engine) -> None:
    task = engine.submit(flaky, items=list(range(30)))
    engine.run()
    engine.client.retry(task.id, [str(number) for number in range(1, 31)])
    assert str(engine.events(task)[-1].reason).startswith("30 items of work: 1, 2,")
    assert str(engine.events(task)[-1].reason).endswith(", 20, …")
