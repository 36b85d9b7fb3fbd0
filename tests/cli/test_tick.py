"""A tick does what fits into its time, nothing twice, and ends in time."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.client import Client
from fanfold.engine.tasks.recovery import tick as ticking
from fanfold.engine.tasks.recovery.tick import tick
from fanfold.engine.worker.loop import Worker
from fanfold.store.dialects.sqlite_parts.ephemeral import refuse_ephemeral
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


def test_a_stage_that_took_long_before_is_not_started_when_too_little_time_is_left(
    shell: Shell, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What earlier ticks have measured counts like ``takes``, but a stage gets the beginning of a tick in any case."""
    client.store.transact(lambda tx: tx.durations.learn({("add", "add"): [30.0] * 20}, 50))
    asked: list[tuple[float, bool]] = []
    real = ticking.fits

    def watched(stage: Any, left: float, usual: float = 0.0) -> bool:
        asked.append((usual, real(stage, 25.0, usual)))
        return real(stage, left, usual)

    monkeypatch.setattr(ticking, "fits", watched)
    task = shell.submit("add", "1")
    report = tick(client.store, [samples.add], seconds=60.0)
    assert (report.finished, report.advanced, client.get(task).state) == (1, 1, "completed")
    assert set(asked) == {(30.0, False)}
    asked.clear()
    tick(client.store, [samples.add], seconds=10.0)
    assert all(usual <= 8.0 * ticking.LONGEST_SHARE for usual, _ in asked), (
        "it is started at the beginning of a short one"
    )
    with client.store.read() as tx:
        learned = tx.durations.of(["add"])["add", "add"]
    assert len(learned) == 21
    assert learned[-1] < 30.0


def test_a_slow_stage_is_started_even_if_half_of_the_tick_went_into_recovery(
    shell: Shell, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise short ticks on a busy machine would never start it again, and nobody would be told."""
    client.store.transact(lambda tx: tx.durations.learn({("add", "add"): [30.0] * 20}, 50))
    skipped = 0.0
    real = ticking._recover

    def slow(*given: Any) -> int:
        nonlocal skipped
        skipped = 10.0
        return real(*given)

    monkeypatch.setattr(ticking, "_recover", slow)
    monkeypatch.setattr(ticking, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + skipped))
    task = shell.submit("add", "1")
    assert tick(client.store, [samples.add], seconds=20.0).finished == 1
    assert client.get(task).state == "completed"


@pytest.mark.one_database
def test_a_tick_in_python_says_what_got_further_and_when_to_come_again(shell: Shell, client: Client) -> None:
    shell.submit("external")
    shell.submit("add", "1")
    report = ff.tick(samples.add, samples.external, seconds=45, store=client.store)
    assert (report.advanced, report.finished, report.waiting) == (2, 1, 1)
    assert report.next_due_seconds is not None
    assert report.next_due_seconds > 3_000
    assert report.seconds <= 45
    assert "1 done of 2 tasks" in str(report)


@pytest.mark.parametrize(("variable", "platform"), [("AWS_LAMBDA_FUNCTION_NAME", "AWS Lambda"), ("VERCEL", "Vercel")])
def test_a_sqlite_file_on_the_disk_of_a_cloud_function_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, platform: str
) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(ff.DatabaseProblem, match=f"on the disk of {platform}, which is lost .* PostgreSQL") as refused:
        ff.tick(samples.add, database=f"sqlite:///{tmp_path / 'fanfold.db'}", data=str(tmp_path))
    assert refused.value.code == "ephemeral"
    assert not list(tmp_path.iterdir())
    refuse_ephemeral(Path("/mnt/efs/fanfold.db"), {variable: "1"})
    refuse_ephemeral(tmp_path / "fanfold.db", {})
