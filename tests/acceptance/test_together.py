"""The same work started several times at once is done once: overlapping ticks, workers, and submits with one key."""

import subprocess
from collections.abc import Sized
from functools import partial
from pathlib import Path

import pytest

from tests.acceptance.fleet import Fleet, fleet, patiently
from tests.acceptance.service import service
from tests.acceptance.work import __name__ as work
from tests.acceptance.work import external

TASKS, ITEMS = 12, 4
SUBMITTERS, KEYS = 6, 10


def test_overlapping_ticks_and_a_worker_start_each_job_once(database_url: str, tmp_path: Path) -> None:
    with service() as outside, fleet(database_url, tmp_path) as ours:
        options = {"service": outside.address}
        tasks = [ours.client.submit(external, items=range(ITEMS), options=options).id for _ in range(TASKS)]
        ticks = [start_tick(ours) for _ in range(2)]
        ours.worker("external", 4)
        for task in tasks:
            ours.until(task)
        assert [tick.wait(100) for tick in ticks] == [0, 0], ours.said()
        wanted = {f"{task}/render/{number}" for task in tasks for number in range(1, ITEMS + 1)}
        assert outside.starts == dict.fromkeys(wanted, 1)
        results = [result.output for task in tasks for result in ours.client.results(task)]
        assert sorted(results) == sorted(f"result of job-{number}" for number in range(1, TASKS * ITEMS + 1))
        troubled = [row for task in tasks for row in ours.rows(task, "render") if row.failures or row.crashes]
        assert not troubled, f"{troubled}\n{ours.said()}"


def test_two_overlapping_ticks_do_all_of_it_alone(database_url: str, tmp_path: Path) -> None:
    with service() as outside, fleet(database_url, tmp_path) as ours:
        options = {"service": outside.address}
        tasks = [ours.client.submit(external, items=range(ITEMS), options=options).id for _ in range(5)]
        for _ in range(5):  # Like a timer, start the next pair if the machine was too slow for this one.
            ticks = [start_tick(ours) for _ in range(2)]
            assert [tick.wait(100) for tick in ticks] == [0, 0], ours.said()
            states = {ours.client.get(task).state for task in tasks}
            if states == {"completed"}:
                break
        assert states == {"completed"}, ours.said()
        assert set(outside.starts.values()) == {1}
        assert len(outside.starts) == 5 * ITEMS


@pytest.mark.parametrize("find", [True, False], ids=["find", "no_find"])
def test_killed_workers_start_no_job_twice(database_url: str, tmp_path: Path, find: bool) -> None:
    """Each is killed in the middle of calls that start jobs. Where the outcome is unknown, a person decides."""
    with service() as outside, fleet(database_url, tmp_path, FANFOLD_CRASH_LIMIT="20") as ours:
        outside.answer_seconds = 0.3
        options = {"service": outside.address, "find": find}
        task = ours.client.submit(external, items=range(16), options=options).id
        for _ in range(3):
            worker = ours.worker("external", 4)
            before = len(outside.starts)
            patiently(partial(has_more, outside.starts, before), 60, ours.said)
            worker.kill()
            worker.wait(60)
        ours.worker("external", 4)
        patiently(lambda: is_over(ours, task), 90, ours.said)
        assert set(outside.starts.values()) == {1}
        assert ours.client.get(task).state == ("completed" if find else "active")
        if not find:
            assert ours.client.get(task).held == len([job for job in ours.client.external_jobs(task) if job.held])
            ours.client.external(task, "lost", reason="the test says so")
            ours.until(task, seconds=90)
            assert set(outside.starts.values()) == {1}


def has_more(starts: Sized, before: int) -> bool:
    return len(starts) > before


def is_over(ours: Fleet, task: str) -> bool:
    now = ours.client.get(task)
    return now.finished or now.stalled


def start_tick(ours: Fleet) -> "subprocess.Popen[bytes]":
    """A tick in a process of its own."""
    return ours.run("-m", "fanfold.cli", "tick", f"{work}:external", "--seconds", "20")


def test_many_processes_submitting_with_one_key_make_one_task(database_url: str, tmp_path: Path) -> None:
    with fleet(database_url, tmp_path) as ours:
        words = ("-m", "tests.acceptance.submitting", str(tmp_path / "go"), str(KEYS))
        submitters = [ours.run(*words) for _ in range(SUBMITTERS)]
        (tmp_path / "go").touch()
        assert [process.wait(60) for process in submitters] == [0] * SUBMITTERS, ours.said()
        answers = [(tmp_path / f"process-{number}.log").read_text().split() for number in range(1, SUBMITTERS + 1)]
        assert all(answer == answers[0] for answer in answers)
        assert len(set(answers[0])) == KEYS
        listed = ours.client.list(limit=100)
        assert {task.id for task in listed} == set(answers[0])
        assert all(task.total == 3 for task in listed)
