"""`worker` serves pipelines, stops gracefully, and replaces processes that die."""

import os
import signal
from pathlib import Path

import psutil

from fanfold.engine.client import Client
from tests.cli.shell import SAMPLES, Shell
from tests.waiting import eventually


def test_a_worker_serves_until_it_is_told_to_stop(shell: Shell, client: Client) -> None:
    process = shell.start("worker", f"{SAMPLES}:words", "--concurrency", "3", "--name", "mine")
    task = shell.submit("words", "a")
    eventually(lambda: client.get(task).state == "completed")
    (worker,) = shell.json("workers")
    assert worker["id"].startswith("mine-")
    assert (worker["concurrency"], worker["alive"]) == (3, True)
    assert worker["id"] in shell.ok("workers")
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 0, said
    assert "Stopped" in said
    assert shell.json("workers") == []


def test_a_worker_serves_only_the_stages_it_is_told(shell: Shell, client: Client) -> None:
    shell.start("worker", f"{SAMPLES}:words", "--stages", "words.shout")
    task = shell.submit("words", "a")
    eventually(lambda: client.get(task).stage == "join")
    assert client.get(task).wait_reason == "no worker serves stage join"


def test_processes_that_die_are_replaced_and_all_stop_together(shell: Shell, client: Client, tmp_path: Path) -> None:
    process = shell.start("worker", f"{SAMPLES}:held", "--processes", "2", FANFOLD_GRACE_SECONDS="0.1")
    eventually(lambda: len(alive(client)) == 2)
    go = tmp_path / "go"
    task = shell.submit("held", "x", "--option", f"go={go}")
    busy = eventually(lambda: client.items(task)[0].worker)
    victim = next(worker for worker in client.workers() if worker.id == busy)
    os.kill(victim.pid, signal.SIGKILL)
    eventually(lambda: len(alive(client)) == 2 and victim.pid not in alive(client))
    go.touch()
    eventually(lambda: client.get(task).state == "completed", seconds=60)
    children = [child.pid for child in psutil.Process(process.pid).children()]
    assert sorted(alive(client)) == sorted(children)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 0
    assert "(SIGKILL); starting another in 0.5 s" in said
    assert not any(psutil.pid_exists(child) for child in children)
    assert alive(client) == []


def test_a_second_signal_stops_all_processes_at_once(shell: Shell, client: Client, tmp_path: Path) -> None:
    process = shell.start("worker", f"{SAMPLES}:held", "--processes", "2", FANFOLD_GRACE_SECONDS="600")
    eventually(lambda: len(alive(client)) == 2)
    task = shell.submit("held", "x", "--option", f"go={tmp_path / 'go'}")
    eventually(lambda: client.items(task)[0].state == "running")
    process.send_signal(signal.SIGINT)
    eventually(lambda: len(alive(client)) == 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=100)
    assert process.returncode == 0
    assert client.items(task)[0].state == "pending"
    assert client.items(task)[0].crashes == 0


def test_a_stop_is_not_lost_on_a_process_that_is_just_starting(sqlite_shell: Shell) -> None:
    process = sqlite_shell.start("worker", "--processes", "2")
    assert process.stderr is not None
    assert "Starting 2 processes" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=100)
    assert process.returncode == 0


def test_a_killed_supervisor_leaves_no_workers_behind(shell: Shell, client: Client, tmp_path: Path) -> None:
    process = shell.start("worker", f"{SAMPLES}:held", "--processes", "2", FANFOLD_GRACE_SECONDS="600")
    eventually(lambda: len(alive(client)) == 2)
    task = shell.submit("held", "x", "--option", f"go={tmp_path / 'go'}")
    eventually(lambda: client.items(task)[0].state == "running")
    workers = alive(client)
    process.kill()
    eventually(lambda: not any(psutil.pid_exists(worker) for worker in workers))
    assert client.items(task)[0].state == "pending"


def alive(client: Client) -> list[int]:
    """The processes of the living workers."""
    return [worker.pid for worker in client.workers() if worker.alive]
