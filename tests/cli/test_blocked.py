"""Time limits, ticks and signals hold when an `async def` handler blocks the event loop: real processes, real signals."""

import signal
import time
from pathlib import Path

import pytest

from fanfold.engine.client import Client
from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import Shell
from tests.waiting import eventually

BLOCKING = "tests.engine.blocking"
FOREVER = 3_600
"""How long the handler would block if nobody interrupted it, in seconds."""


def submitted(shell: Shell, pipeline: str, *items: str) -> str:
    return shell.ok("submit", f"{BLOCKING}:{pipeline}", *items).strip()


def are_unharmed(client: Client, task: str) -> None:
    assert {(item.state, item.failures, item.crashes) for item in client.items(task)} == {("pending", 0, 0)}


def test_a_tick_ends_within_its_budget_though_a_handler_blocks(shell: Shell, client: Client, tmp_path: Path) -> None:
    task = submitted(shell, "blocking", "0", f"{FOREVER} {tmp_path / 'note'}")
    process = shell.start("tick", f"{BLOCKING}:blocking", "--seconds", "8")
    out, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert f"block 2 of {task} has blocked the event loop" in said
    assert " handed back" in out  # On a busy machine the second item may not have begun.
    took = float(out.split(" in ")[1].split(" s")[0])
    assert took < 30
    are_unharmed(client, task)
    assert shell.json("workers") == []


@pytest.mark.parametrize("signals", [1, 2])
def test_signals_reach_a_worker_whose_loop_is_blocked(
    shell: Shell, client: Client, tmp_path: Path, signals: int
) -> None:
    """One signal waits for the grace time, two do not."""
    note = tmp_path / "note"
    task = submitted(shell, "blocking", "0", f"{FOREVER} {note}")
    grace = "1" if signals == 1 else str(FOREVER)
    process = shell.start("worker", f"{BLOCKING}:blocking", FANFOLD_GRACE_SECONDS=grace)
    eventually(note.exists)
    for _ in range(signals):
        process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    are_unharmed(client, task)
    assert shell.json("workers") == []


def test_a_process_whose_handler_cannot_be_interrupted_is_ended(shell: Shell, client: Client, tmp_path: Path) -> None:
    note = tmp_path / "note"
    task = submitted(shell, "deaf", str(note))
    process = shell.start("worker", f"{BLOCKING}:deaf", FANFOLD_GRACE_SECONDS="1")
    eventually(note.exists)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "The handler does not end; ending the process" in said
    are_unharmed(client, task)
    assert shell.json("workers") == []


def test_a_blocking_handler_fails_at_its_time_limit_and_the_worker_goes_on(sqlite_shell: Shell, tmp_path: Path) -> None:
    shell, client = sqlite_shell, sqlite_shell.client()
    task = submitted(shell, "limited", f"{FOREVER} {tmp_path / 'note'}", "0.01")
    shell.start("worker", f"{BLOCKING}:limited")
    eventually(lambda: client.get(task).state == "partial", 90)
    first, second = client.items(task)
    assert (first.error_code, first.failures, first.crashes) == ("timeout", 1, 0)
    assert (second.state, second.crashes) == ("done", 0)


def test_a_run_whose_loop_is_blocked_ends_with_the_second_interrupt(sqlite_shell: Shell, tmp_path: Path) -> None:
    shell, note = sqlite_shell, tmp_path / "note"
    process = shell.start("run", f"{BLOCKING}:blocking", f"{FOREVER} {note}", FANFOLD_GRACE_SECONDS=str(FOREVER))
    eventually(note.exists)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    _, said = process.communicate(timeout=60)
    assert process.returncode == Exit.INTERRUPTED, said
    client = shell.client()
    are_unharmed(client, client.list()[0].id)
