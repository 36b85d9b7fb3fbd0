"""A tick does what fits into its time, nothing twice, and ends in time."""

import threading
from pathlib import Path
from typing import Any

import pytest

from fanfold.engine.client import Client
from fanfold.engine.tasks.recovery.tick import tick
from fanfold.engine.worker.loop import Worker
from tests.cli import samples
from tests.cli.shell import SAMPLES, Shell
from tests.waiting import eventually


def test_a_tick_does_everything_that_is_due_and_ends(shell: Shell) -> None:
    tasks = [shell.submit("words", "a", "b") for _ in range(3)]
    report = shell.tick("words")
    assert report["finished"] == 9
    assert [shell.ok("result", task) for task in tasks] == ["A B\n"] * 3
    assert shell.ok("tick").startswith("0 done in ")


def test_a_tick_serves_so_many_tasks_per_stage(shell: Shell) -> None:
    for _ in range(5):
        shell.submit("add", "1")
    report = shell.json("tick", f"{SAMPLES}:add", "--tasks-per-stage", "2")
    assert report["finished"] == 2
    assert len(shell.json("tasks", "--state", "completed")) == 2


def test_a_stage_that_does_not_fit_is_not_started_and_does_not_hold_the_tick(shell: Shell, client: Client) -> None:
    task = shell.submit("costly")
    report = shell.json("tick", f"{SAMPLES}:costly", "--seconds", "200")
    assert report["finished"] == 0
    assert report["seconds"] < 100
    assert client.items(task)[0].attempts == 0
    assert shell.json("tick", f"{SAMPLES}:costly", "--seconds", "500")["finished"] == 1


def test_the_old_name_of_the_seconds_still_works(shell: Shell, client: Client) -> None:
    shell.submit("costly")
    assert shell.json("tick", f"{SAMPLES}:costly", "--budget", "200")["finished"] == 0
    assert tick(client.store, [samples.costly], budget=200.0).finished == 0
    assert shell.json("tick", f"{SAMPLES}:costly", "--budget", "500")["finished"] == 1
    assert "--budget" not in shell.ok("tick", "--help")
    Worker([samples.add], store=client.store).run(budget=0.1)


def test_what_still_runs_at_the_end_is_handed_back_within_the_budget(
    shell: Shell, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fifth of the time is reserved for that, whatever else the machine does."""
    working: list[float] = []
    run = Worker.run

    def watched(worker: Worker, *, seconds: float, **how: Any) -> None:
        working.append(seconds)
        run(worker, seconds=seconds, **how)

    monkeypatch.setattr(Worker, "run", watched)
    task = shell.submit("held", "x", "--option", f"go={tmp_path / 'go'}")
    report = tick(client.store, [samples.held], seconds=5.0)
    assert (working[0] <= 4.0, report.handed_back) == (True, 1)
    assert report.seconds < 60
    (item,) = client.items(task)
    assert (item.state, item.failures, item.crashes) == ("pending", 0, 0)


def test_a_tick_waits_for_what_is_due_in_a_moment_but_not_for_what_is_due_later(shell: Shell) -> None:
    soon, later = shell.submit("flaky"), shell.submit("external")
    report = shell.tick("flaky", "external")
    assert (report["finished"], report["retrying"], report["waiting"]) == (1, 1, 1)
    assert report["seconds"] < 40
    assert 3500 < report["next_due_seconds"] <= 3600
    assert shell.json("show", soon)["state"] == "completed"
    assert shell.json("show", later)["wait_reason"].startswith("waits for an external job")


def test_overlapping_ticks_do_nothing_twice(shell: Shell, client: Client) -> None:
    tasks = [shell.submit("words", *"abcdefgh") for _ in range(5)]
    reports = []

    def run() -> None:
        with shell.client() as own:
            reports.append(tick(own.store, [samples.words], concurrency=2))

    ticks = [threading.Thread(target=run) for _ in range(2)]
    for one in ticks:
        one.start()
    for one in ticks:
        one.join()
    eventually(lambda: tick(client.store, [samples.words]).finished == 0)
    attempts = [item.attempts for task in tasks for item in client.items(task)]
    assert attempts == [1] * 40
    assert all(client.get(task).state == "completed" for task in tasks)


def test_a_tick_recovers_what_a_dead_worker_held(shell: Shell, client: Client, tmp_path: Path) -> None:
    go = tmp_path / "go"
    task = shell.submit("held", "x", "--option", f"go={go}")
    process = shell.start("worker", f"{SAMPLES}:held")
    eventually(lambda: client.items(task)[0].state == "running")
    process.kill()
    process.wait()
    go.touch()
    assert tick(client.store, [samples.held]).recovered == 1
    assert client.get(task).state == "completed"
