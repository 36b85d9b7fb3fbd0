"""An outdated result is never given as the result: commands say so, and exit with another code than 0."""

import json

import pytest

from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import SAMPLES, Shell


@pytest.fixture
def task(shell: Shell) -> str:
    """A completed task."""
    made = shell.submit("words", "a", "b")
    shell.tick("words")
    assert shell.ok("result", made) == "A B\n"
    return made


def test_while_items_are_redone_there_is_no_result_but_the_earlier_one_can_be_had(shell: Shell, task: str) -> None:
    shell.ok("retry", task, "--item", "1", "--option", "mood=good")
    assert "--earlier" in shell.fails(Exit.WAITING, "result", task)
    earlier = shell.type("result", task, "--earlier")
    assert earlier.stdout == "A B\n"
    assert "previous result" in earlier.stderr
    shell.tick("words")
    assert shell.ok("result", task) == "A B\n"


def test_a_task_whose_redo_failed_has_no_result(shell: Shell) -> None:
    task = shell.submit("words", "bad", "--option", "mood=good")
    shell.tick("words")
    assert shell.ok("result", task) == "BAD\n"
    shell.ok("retry", task, "--item", "1", "--option", "mood=bad")
    shell.tick("words")
    assert "has no result" in shell.fails(Exit.FAILED, "result", task)
    with shell.client() as client:
        assert client.result(task, earlier=True) == "BAD"


def test_an_item_that_is_not_done_has_no_output_but_the_earlier_one_can_be_had(shell: Shell, task: str) -> None:
    shell.ok("retry", task, "--item", "1")
    assert "--earlier" in shell.fails(Exit.NOT_FOUND, "output", task, "1")
    assert shell.ok("output", task, "1", "--earlier") == "A\n"
    assert shell.ok("output", task, "2") == "B\n"
    shell.fails(Exit.NOT_FOUND, "output", task, "2", "--earlier")
    shell.tick("words")
    assert shell.ok("output", task, "1") == shell.ok("output", task, "1", "--earlier") == "A\n"


def test_a_result_with_items_missing_is_given_and_ends_with_7(shell: Shell) -> None:
    task = shell.submit("words", "a", "bad")
    shell.tick("words")
    shell.ok("merge", task)
    shell.tick("words")
    for command in ("result", "wait"):
        assert shell.type(command, task).exit_code == Exit.PARTIAL
        assert shell.type(command, task, "--json").exit_code == Exit.PARTIAL
    assert json.loads(shell.type("result", task, "--json").stdout)["result"] == "A"


def test_run_ends_with_7_when_its_result_was_merged_without_some_items(shell: Shell) -> None:
    assert shell.type("run", f"{SAMPLES}:words", "a", "bad").exit_code == Exit.PARTIAL
    [task] = shell.json("tasks")
    shell.ok("merge", task["id"])
    shell.tick("words")
    again = shell.type("run", f"{SAMPLES}:words", "a", "bad")
    assert (again.exit_code, again.stdout) == (Exit.PARTIAL, "A\n")
