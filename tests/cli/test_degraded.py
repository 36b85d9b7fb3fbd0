"""The commands say so, and end with 7, when a result is not what was asked for."""

import json

import pytest

from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import SAMPLES, Shell

pytestmark = pytest.mark.one_database


@pytest.fixture
def task(shell: Shell) -> str:
    """A completed task with two degraded items of three."""
    made = shell.submit("words", "a", "poor", "poor")
    shell.tick("words")
    return made


def test_show_and_tasks_count_what_is_degraded(shell: Shell, task: str) -> None:
    shown = shell.ok("show", task)
    assert "2 degraded" in shown
    assert "2: not loud enough" in shown
    assert f"fanfold retry {task} --degraded" in shown
    heading, line = shell.ok("tasks").splitlines()
    assert heading.split()[6] == "degraded"
    assert line.split()[6] == "2"


def test_items_lists_only_what_is_degraded_with_the_reason(shell: Shell, task: str) -> None:
    assert [item["key"] for item in shell.json("items", task, "--degraded")] == ["2", "3"]
    assert "degraded: not loud enough" in shell.ok("items", task)


@pytest.mark.parametrize("command", ["result", "wait"])
def test_a_degraded_result_is_given_and_ends_with_7(shell: Shell, task: str, command: str) -> None:
    result = shell.type(command, task)
    assert result.exit_code == 7
    assert "degraded" in result.output
    assert shell.type(command, task, "--json").exit_code == 7


def test_run_ends_with_7_when_its_result_has_a_degraded_item(shell: Shell) -> None:
    for _ in ("done now", "done before"):
        result = shell.type("run", f"{SAMPLES}:words", "a", "poor")
        assert (result.exit_code, result.stdout) == (7, "A POOR\n")
        assert "2: not loud enough" in result.stderr
    answer = shell.type("run", f"{SAMPLES}:words", "a", "poor", "--json")
    assert (answer.exit_code, json.loads(answer.stdout)["task"]["degraded"]) == (7, 1)


def test_a_failure_keeps_its_own_exit_code(shell: Shell) -> None:
    task = shell.submit("gated")
    shell.tick("gated")
    assert shell.type("wait", task).exit_code == Exit.WAITING
    assert shell.type("run", f"{SAMPLES}:words", "bad", "--json").exit_code == Exit.FAILED


def test_what_is_accepted_is_said_and_ends_well(shell: Shell, task: str) -> None:
    assert f"fanfold accept {task}" in shell.ok("show", task)
    partly = shell.ok("accept", task, "--item", "2")
    assert "2 of 3 items degraded, 1 accepted" in partly
    assert shell.type("result", task).exit_code == 7
    assert "2 of 3 items degraded, accepted" in shell.ok("accept", task, "--reason", "good enough")
    for command in ("result", "wait"):
        assert shell.type(command, task).exit_code == Exit.OK
        assert shell.type(command, task, "--json").exit_code == Exit.OK
    shown = shell.ok("show", task)
    assert "2 degraded, accepted" in shown
    assert "2: not loud enough" in shown
    assert "--degraded" not in shown
    assert "degraded, accepted: not loud enough" in shell.ok("items", task)
    assert "good enough" in shell.ok("events", task)
    assert shell.ok("tasks", "--needs-you", "--json").strip() == "[]"
    refused = shell.type("accept", task)
    assert refused.exit_code == Exit.ILLEGAL_MOVE
    assert "none of its items has a degraded result that still needs accepting" in refused.stderr


def test_run_ends_well_when_what_is_degraded_was_accepted(shell: Shell) -> None:
    assert shell.type("run", f"{SAMPLES}:words", "a", "poor").exit_code == 7
    [task] = shell.json("tasks")
    shell.ok("accept", task["id"])
    again = shell.type("run", f"{SAMPLES}:words", "a", "poor")
    assert (again.exit_code, again.stdout) == (0, "A POOR\n")
    assert "1 of 2 items is degraded, accepted" in again.stderr
