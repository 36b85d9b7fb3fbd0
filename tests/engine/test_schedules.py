"""Schedules: due times, exactly once, whatever happens to workers and clocks; and tasks that start later."""

from __future__ import annotations

import errno
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import fanfold as ff
from fanfold.engine.tasks.recovery.tick import tick
from fanfold.engine.tasks.scheduling import fire
from fanfold.engine.tasks.submitting import inputs, submit
from fanfold.model.schedule import CatchUp, due_now, due_times
from tests.engine.pipelines import batch, one_step
from tests.installation import BEGINNING, HandClock, Installation

HOUR = 3_600.0


def report(installation: Installation, **rules: Any) -> ff.Pipeline:
    """A pipeline that is known here, with an hourly schedule."""
    pipeline = installation.know(one_step(lambda task: task.options.get("day", "today"), "report"))
    installation.client.schedules.add("hourly", "0 * * * *", pipeline, **rules)
    return pipeline


def outcomes(installation: Installation, name: str = "hourly") -> list[tuple[int, str]]:
    """Hours since the beginning and outcomes of its runs, oldest first."""
    runs = reversed(installation.client.schedules.get(name, runs=100).runs)
    return [(round((run.due_at - BEGINNING).total_seconds() / HOUR), str(run.outcome)) for run in runs]


@pytest.mark.parametrize(
    ("cron", "after", "due"),
    [
        ("30 2 * * *", "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:30"]),
        ("30 2 * * *", "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        ("*/30 * * * *", "2026-10-25T00:20", ["2026-10-25T00:30", "2026-10-25T01:00", "2026-10-25T01:30"]),
        ("0 3 * * 1-5", "2026-11-20T12:00", ["2026-11-23T02:00"]),
    ],
)
def test_due_times_are_those_of_the_wall_clock(cron: str, after: str, due: list[str]) -> None:
    """Also on the nights when the clocks change: never twice, never not at all."""
    times = due_times(cron, "Europe/Berlin", datetime.fromisoformat(after).replace(tzinfo=UTC))
    found = [next(times).strftime("%Y-%m-%dT%H:%M") for _ in due]
    assert found == due


def test_each_task_of_a_schedule_has_its_budget(installation: Installation, clock: HandClock) -> None:
    report(installation, budget="2.50", strict_budget=True)
    schedules, client = installation.client.schedules, installation.client
    assert schedules.get("hourly").budget == 2.5
    clock.advance(HOUR)
    installation.sweep()
    schedules.run("hourly")
    tasks = [run.task for run in schedules.get("hourly").runs if run.task]
    assert len(tasks) == 2
    assert [(one.cap, one.strict) for one in map(client.budget, tasks)] == [(2.5, True)] * 2


def test_a_schedule_without_a_budget_has_none(installation: Installation) -> None:
    report(installation)
    task = installation.client.schedules.run("hourly")
    assert installation.client.budget(task.id).cap is None
    with pytest.raises(ff.BadInput, match="budget"):
        report(installation, strict_budget=True)


def test_a_gap_of_a_year_is_not_walked_through() -> None:
    """One run makes up for half a million."""
    start, now = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, 0, 0, 30, tzinfo=UTC)
    plan = due_now("* * * * *", "UTC", CatchUp.ONE, start, now)
    assert (plan.missed, plan.runs) == (start, (datetime(2027, 1, 1, tzinfo=UTC),))
    assert plan.following == datetime(2027, 1, 1, 0, 1, tzinfo=UTC)


def test_a_schedule_submits_its_task_when_it_is_due(installation: Installation, clock: HandClock) -> None:
    """Once per due time, with its options, under its name."""
    report(installation, options={"day": "monday"}, title="Report", tags=["night"])
    installation.sweep()
    assert not installation.client.list()
    for _ in range(3):
        clock.advance(HOUR)
        installation.sweep()
        installation.sweep()
        installation.work()
    tasks = installation.client.list()
    assert [(task.title, task.tags, task.state) for task in tasks] == [("Report", ("night",), "completed")] * 3
    assert installation.client.result(tasks[0].id) == "monday"
    assert outcomes(installation) == [(1, "submitted"), (2, "submitted"), (3, "submitted")]
    first = installation.client.schedules.get("hourly").runs[0]
    assert (first.task, first.actor) == (tasks[0].id, "sweep")


def test_many_workers_at_once_submit_one_task(installation: Installation, clock: HandClock) -> None:
    """Ten sweeps at the same moment."""
    pipeline = report(installation)
    clock.advance(HOUR + 1)
    known = {pipeline.name: pipeline}
    threads = [threading.Thread(target=fire.fire_due, args=(installation.store, known, f"w{n}")) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(installation.client.list()) == 1
    assert outcomes(installation) == [(1, "submitted")]


def test_a_worker_that_saw_an_old_due_time_submits_nothing(installation: Installation, clock: HandClock) -> None:
    """The move of the due time carries what was seen, in the transaction of the task."""
    pipeline = report(installation, overlap="allow")
    clock.advance(HOUR + 1)
    with installation.store.read() as tx:
        [seen] = tx.schedules.due(10)
    installation.sweep()
    late = fire._Firing(installation.store, pipeline, "late")
    with patch.object(submit, "_by_key", lambda *_: None):
        late._run(seen, BEGINNING + timedelta(hours=1), seen._replace(next_at=BEGINNING + timedelta(hours=2)))
    assert len(installation.client.list()) == 1


def test_a_process_that_dies_while_it_submits_leaves_the_run_to_others(
    installation: Installation, clock: HandClock
) -> None:
    """Nothing of the transaction is there, and the next sweep does it."""
    pipeline = report(installation)
    clock.advance(HOUR + 1)
    with patch.object(submit.Making, "_begin", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        fire.fire_due(installation.store, {pipeline.name: pipeline}, "dying")
    assert not installation.client.list()
    installation.sweep()
    assert outcomes(installation) == [(1, "submitted")]


def test_a_clock_that_is_set_back_repeats_nothing(installation: Installation, clock: HandClock) -> None:
    """The due time stays in the future until the clock comes to it again."""
    report(installation, overlap="allow")
    clock.advance(HOUR + 1)
    installation.sweep()
    clock.advance(-2 * HOUR)
    installation.sweep()
    clock.advance(2.2 * HOUR)
    installation.sweep()
    assert outcomes(installation) == [(1, "submitted")]


@pytest.mark.parametrize(
    ("catch_up", "found"),
    [
        ("none", [(1, "missed")]),
        ("one", [(1, "missed"), (5, "submitted")]),
        ("all", [(hour, "submitted") for hour in range(1, 6)]),
    ],
)
def test_times_at_which_nobody_was_there(
    installation: Installation, clock: HandClock, catch_up: str, found: list[tuple[int, str]]
) -> None:
    """None, one or all of them are made up for."""
    report(installation, overlap="allow", catch_up=catch_up)
    clock.advance(5.5 * HOUR)
    installation.sweep()
    installation.sweep()
    assert outcomes(installation) == found
    assert installation.client.schedules.get("hourly").next_at == BEGINNING + timedelta(hours=6)


def test_a_run_that_is_a_little_late_is_on_time(installation: Installation, clock: HandClock) -> None:
    """A sweep every few seconds is never exact."""
    report(installation, catch_up="none")
    clock.advance(HOUR + 100)
    installation.sweep()
    assert outcomes(installation) == [(1, "submitted")]


def test_overlap_skip_leaves_a_run_out_while_one_is_unfinished(installation: Installation, clock: HandClock) -> None:
    """And says so."""
    report(installation, overlap="skip")
    for _ in range(2):
        clock.advance(HOUR)
        installation.sweep()
    installation.work()
    clock.advance(HOUR)
    installation.sweep()
    assert outcomes(installation) == [(1, "submitted"), (2, "skipped"), (3, "submitted")]
    assert "not finished" in str(installation.client.schedules.get("hourly").runs[1].reason)


def test_overlap_queue_runs_one_afterwards(installation: Installation, clock: HandClock) -> None:
    """One run waits; more than one are left out."""
    report(installation, overlap="queue")
    for _ in range(3):
        clock.advance(HOUR)
        installation.sweep()
    assert outcomes(installation) == [(1, "submitted"), (3, "skipped")]
    assert installation.client.schedules.get("hourly").queued_at == BEGINNING + timedelta(hours=2)
    installation.work()
    installation.sweep()
    assert outcomes(installation) == [(1, "submitted"), (2, "submitted"), (3, "skipped")]
    installation.work()
    installation.sweep()
    assert len(installation.client.list()) == 2


def test_overlap_allow_runs_them_side_by_side(installation: Installation, clock: HandClock) -> None:
    """All of them."""
    report(installation, overlap="allow")
    for _ in range(2):
        clock.advance(HOUR)
        installation.sweep()
    assert len(installation.client.list(states=["active"])) == 2


def test_a_paused_schedule_submits_nothing_and_resumes_with_the_next_time(
    installation: Installation, clock: HandClock
) -> None:
    """What was due meanwhile is left out."""
    report(installation, catch_up="all")
    assert installation.client.schedules.pause("hourly").paused
    clock.advance(3.5 * HOUR)
    installation.sweep()
    resumed = installation.client.schedules.resume("hourly")
    assert (resumed.paused, resumed.next_at) == (False, BEGINNING + timedelta(hours=4))
    clock.advance(HOUR)
    installation.sweep()
    assert outcomes(installation) == [(4, "submitted")]


def test_run_now_changes_no_due_time(installation: Installation, clock: HandClock) -> None:
    """Also for a paused one, and twice in a moment."""
    report(installation)
    before = installation.client.schedules.get("hourly").next_at
    tasks = [installation.client.schedules.run("hourly") for _ in range(2)]
    found = installation.client.schedules.get("hourly")
    assert found.next_at == before
    assert [run.task for run in found.runs] == [tasks[1].id, tasks[0].id]


def test_a_submission_that_is_refused_is_told_and_not_repeated(installation: Installation, clock: HandClock) -> None:
    """The pipeline has changed since: the run fails with the reason, and the next one is tried."""
    pipeline = report(installation)
    clock.advance(HOUR)
    changed = one_step(lambda task: 1, pipeline.name)
    with patch.object(fire, "submit_or_find", side_effect=ff.BadInput("the options changed")):
        fire.fire_due(installation.store, {pipeline.name: changed}, "w")
        fire.fire_due(installation.store, {pipeline.name: changed}, "w")
    assert outcomes(installation) == [(1, "failed")]
    assert installation.client.schedules.get("hourly").runs[0].reason == "the options changed"


def test_a_pipeline_that_is_not_known_here_is_left_to_others(installation: Installation, clock: HandClock) -> None:
    """The due time stays."""
    report(installation)
    clock.advance(HOUR)
    assert fire.fire_due(installation.store, {}, "other") == 0
    assert outcomes(installation) == []


def test_files_are_kept_when_the_schedule_is_added(
    installation: Installation, clock: HandClock, tmp_path: Path
) -> None:
    """Each task has its own copy, and the schedule's goes with the schedule."""
    source = tmp_path / "list.txt"
    source.write_text("first")
    pipeline = installation.know(one_step(lambda task: task.input.read_text(), "reader"))
    installation.client.schedules.add("read", "0 * * * *", pipeline, source)
    source.write_text("changed")
    for _ in range(2):
        clock.advance(HOUR)
        installation.sweep()
        installation.work()
    tasks = installation.client.list()
    assert [installation.client.result(task.id) for task in tasks] == ["first", "first"]
    installation.client.delete(tasks[0].id)
    assert installation.client.result(tasks[1].id) == "first"
    installation.client.schedules.remove("read")
    assert len(installation.blobs()) == 1
    with pytest.raises(ff.NotFound):
        installation.client.schedules.get("read")


def test_items_with_keys_are_submitted_each_time(installation: Installation, clock: HandClock) -> None:
    """Also plain values."""
    pipeline = installation.know(batch())
    items = [ff.NewItem(key="a", input="x"), "y"]
    installation.client.schedules.add("items", "0 * * * *", pipeline, items=iter(items))
    clock.advance(HOUR)
    installation.sweep()
    [task] = installation.client.list()
    assert [item.key for item in installation.client.items(task.id)] == ["a", "2"]
    installation.work()
    assert installation.client.result(task.id) == ["X", "Y"]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"cron": "61 * * * *"}, "bad_cron"),
        ({"cron": "0 0 31 2 *"}, "bad_cron"),
        ({"zone": "Mars/Olympus"}, "bad_time_zone"),
        ({"name": "a b"}, "bad_input"),
        ({"overlap": "maybe"}, "bad_input"),
        ({"catch_up": "two"}, "bad_input"),
    ],
)
def test_a_wrong_schedule_is_refused(installation: Installation, wrong: dict[str, str], code: str) -> None:
    """With the reason, before anything is stored."""
    pipeline = installation.know(one_step(lambda task: 1))
    known = {"name": "n", "cron": "0 * * * *", **wrong}
    with pytest.raises(ff.BadInput) as problem:
        installation.client.schedules.add(known.pop("name"), known.pop("cron"), pipeline, **known)  # type: ignore[arg-type]
    assert problem.value.code == code
    assert not installation.client.schedules.list()


def test_a_name_is_taken_once(installation: Installation) -> None:
    """Remove it first."""
    pipeline = report(installation)
    with pytest.raises(ff.BadInput, match="already"):
        installation.client.schedules.add("hourly", "0 * * * *", pipeline)


def test_the_next_times_are_told(installation: Installation) -> None:
    """The first is the stored one."""
    report(installation)
    found = installation.client.schedules.next_times("hourly", 3)
    assert found == [BEGINNING + timedelta(hours=hour) for hour in (1, 2, 3)]


def test_an_owner_sees_only_their_own(installation: Installation) -> None:
    """And can neither pause nor run those of others."""
    report(installation, owner="ann")
    bob = ff.Client(store=installation.store, owner="bob", pipelines=installation.pipelines)
    assert bob.schedules.list() == []
    with pytest.raises(ff.NotFound):
        bob.schedules.pause("hourly")
    assert [one.name for one in ff.Client(store=installation.store, owner="ann").schedules.list()] == ["hourly"]


def test_a_task_starts_at_its_time(installation: Installation, clock: HandClock) -> None:
    """Until then it waits, says when it starts, and needs nobody."""
    pipeline = installation.know(batch())
    task = installation.client.submit(pipeline, items=["a"], delay=HOUR)
    assert (task.state, task.status, task.start_at) == ("waiting", "scheduled", BEGINNING + timedelta(hours=1))
    assert task.needs_you is None
    assert "starts at" in str(task.wait_reason)
    assert not installation.client.list(needs_you=True)
    installation.sweep()
    assert not installation.worker().claim()
    clock.advance(HOUR)
    installation.sweep()
    started = installation.client.get(task.id)
    assert (started.state, started.start_at) == ("active", None)
    installation.work()
    assert installation.client.result(task.id) == ["A"]
    assert [event.verb for event in installation.client.events(task.id)][:2] == ["submit", "start"]


def test_a_person_starts_it_earlier_or_cancels_it(installation: Installation, clock: HandClock) -> None:
    """Like a task that waits at a gate; its time does not start it again."""
    pipeline = installation.know(batch())
    first = installation.client.submit(pipeline, items=["a"], run_at=BEGINNING + timedelta(hours=1))
    second = installation.client.submit(pipeline, items=["b"], delay=HOUR)
    assert installation.client.resume(first.id).state == "active"
    assert installation.client.cancel(second.id).start_at is None
    clock.advance(2 * HOUR)
    installation.sweep()
    assert installation.client.get(second.id).state == "cancelled"


@pytest.mark.parametrize("command", ["rerun", "retry", "merge"])
def test_a_command_that_repeats_work_does_not_start_it_before_its_time(
    installation: Installation, clock: HandClock, command: str
) -> None:
    """Nothing has begun: a rerun would only have dropped its time."""
    task = installation.client.submit(installation.know(batch()), items=["a"], delay=HOUR)
    with pytest.raises(ff.IllegalMove, match="has not started yet; resume"):
        getattr(installation.client, command)(task.id)
    with pytest.raises(ff.IllegalMove, match="has not started yet; resume"):
        installation.client.retry(task.id, ["1"], options={"texts": []})
    found = installation.client.get(task.id)
    assert (found.status, found.start_at) == ("scheduled", BEGINNING + timedelta(hours=1))
    assert found.available_commands == ("resume", "cancel", "delete")
    clock.advance(HOUR)
    installation.sweep()
    installation.work()
    assert installation.client.get(task.id).state == "completed"


def test_a_gate_still_waits_after_the_start(installation: Installation, clock: HandClock) -> None:
    """Then for a person."""
    pipeline = installation.know(one_step(lambda task: 1, gate=True))
    task = installation.client.submit(pipeline, delay=60)
    clock.advance(61)
    installation.sweep()
    found = installation.client.get(task.id)
    assert (found.state, found.start_at) == ("waiting", None)
    assert found.needs_you is not None


def test_a_time_in_the_past_starts_at_once(installation: Installation) -> None:
    """By the clock of the database."""
    pipeline = installation.know(batch())
    assert installation.client.submit(pipeline, items=["a"], run_at=BEGINNING - timedelta(days=1)).state == "active"


@pytest.mark.parametrize("wrong", [{"delay": -1}, {"delay": "x"}, {"run_at": datetime(2030, 1, 2)}, {"delay": True}])  # noqa: DTZ001
def test_a_wrong_start_time_is_refused(installation: Installation, wrong: dict[str, Any]) -> None:
    """Before anything is stored."""
    pipeline = installation.know(batch())
    with pytest.raises(ff.BadInput):
        installation.client.submit(pipeline, items=["a"], **wrong)
    assert not installation.client.list()


def test_a_tick_fires_schedules_and_says_when_the_next_is_due(installation: Installation, clock: HandClock) -> None:
    """For hosts without a daemon."""
    pipeline = report(installation)
    clock.advance(HOUR)
    done = tick(installation.store, [pipeline], seconds=5)
    assert done.finished == 1
    assert done.next_due_seconds == pytest.approx(HOUR, abs=60)


def test_the_first_due_time_is_after_the_schedule_was_stored(
    installation: Installation, clock: HandClock, tmp_path: Path
) -> None:
    """Copying its inputs may take long, and the times that pass meanwhile are not made up for."""
    source = tmp_path / "large.txt"
    source.write_text("much")
    pipeline = installation.know(one_step(lambda task: "read", "report"))
    copy_in = inputs.copy_in

    def slowly(*arguments: Any) -> Any:
        clock.advance(2 * HOUR)
        return copy_in(*arguments)

    with patch.object(inputs, "copy_in", slowly):
        added = installation.client.schedules.add("hourly", "0 * * * *", pipeline, source, catch_up="all")
    assert added.created_at == BEGINNING + timedelta(seconds=2 * HOUR)
    assert added.next_at is not None
    assert added.next_at > added.created_at
    installation.sweep()
    assert outcomes(installation) == []


def test_a_schedule_whose_files_are_gone_does_not_hold_up_others(
    installation: Installation, clock: HandClock, tmp_path: Path
) -> None:
    """Its run is recorded as failed, with the reason, and the next one is tried at its time."""
    given = tmp_path / "given.txt"
    given.write_text("text")
    pipeline = installation.know(one_step(lambda task: 1))
    installation.client.schedules.add("broken", "0 * * * *", pipeline, given)
    installation.client.schedules.add("whole", "0 * * * *", pipeline)
    for file in (tmp_path / "data" / "blobs").rglob("*given.txt"):
        file.unlink()
    clock.advance(3_600)
    installation.sweep()
    installation.sweep()
    [run] = installation.client.schedules.get("broken").runs
    assert (run.outcome, len(installation.client.schedules.get("whole").runs)) == ("failed", 1)
    assert "given.txt" in str(run.reason)


def test_a_full_disk_holds_up_one_schedule_only(installation: Installation, clock: HandClock) -> None:
    """Its run stays due; others run, and the sweep continues with what makes room."""
    pipeline = installation.know(one_step(lambda task: 1))
    for name in ("first", "second"):
        installation.client.schedules.add(name, "0 * * * *", pipeline)
    clock.advance(HOUR)
    real, full = submit.submit_or_find, OSError(errno.ENOSPC, "No space left on device")

    def once(*given: Any) -> Any:
        patched.side_effect = real
        raise full

    with patch.object(fire, "submit_or_find", side_effect=once) as patched:
        assert fire.fire_due(installation.store, {pipeline.name: pipeline}, "w") == 1
    assert fire.fire_due(installation.store, {pipeline.name: pipeline}, "w") == 1
    runs = [installation.client.schedules.get(name).runs for name in ("first", "second")]
    assert [[run.outcome for run in some] for some in runs] == [["submitted"], ["submitted"]]
