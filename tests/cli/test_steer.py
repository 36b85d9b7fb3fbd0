"""The commands that steer tasks work for one task and for several."""

import json
from pathlib import Path

import pytest

from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import SAMPLES, Shell


def test_pause_resume_cancel_rerun_and_delete(shell: Shell) -> None:
    task = shell.submit("words", "a")
    assert shell.ok("pause", task, "--reason", "lunch") == f"{task} is paused (paused: lunch)\n"
    assert shell.json("resume", task)["state"] == "active"
    assert shell.ok("cancel", task[:5]) == f"{task} is cancelled\n"
    assert "Name the pipeline: fanfold rerun" in shell.fails(Exit.BAD_INPUT, "rerun", task)
    assert shell.json("rerun", task, "--target", f"{SAMPLES}:words")["state"] == "active"
    shell.tick("words")
    assert shell.ok("result", task) == "A\n"
    assert shell.ok("delete", task) == f"{task} is deleted\n"
    assert shell.json("tasks") == []


def test_several_ids_are_moved_and_one_that_refuses_does_not_stop_the_others(shell: Shell) -> None:
    one, two = shell.submit("words", "a"), shell.submit("words", "b")
    result = shell.type("pause", one, "t-nope", two)
    assert result.exit_code == Exit.NOT_FOUND
    assert result.stdout == f"{one} is paused\n{two} is paused\n"
    assert result.stderr == "Error: There is no task t-nope. To see them all: fanfold tasks\n"
    answer = shell.type("resume", one, two, two, "--json")
    assert answer.exit_code == Exit.ILLEGAL_MOVE
    first, second, third = json.loads(answer.stdout)
    assert (first["state"], second["state"], third["error"]["code"]) == ("active", "active", "illegal_move")
    assert [task["deleted"] for task in deleted(shell, one, two)] == [True, True]


def deleted(shell: Shell, *tasks: str) -> list[dict[str, bool]]:
    """Delete tasks, which are cancelled first."""
    shell.ok("cancel", *tasks)
    answer: list[dict[str, bool]] = shell.json("delete", *tasks, "--yes")
    return answer


def test_retry_redoes_what_failed_with_other_options(shell: Shell) -> None:
    task = shell.submit("words", "a", "bad")
    shell.tick("words")
    shell.ok("retry", task, "--option", "mood=good")
    assert shell.tick("words")["finished"] == 2
    assert shell.ok("result", task) == "A BAD\n"


def test_retry_redoes_just_what_is_degraded(shell: Shell) -> None:
    task = shell.submit("words", "a", "poor")
    shell.tick("words")
    assert shell.json("retry", task, "--degraded", "--option", "mood=good")["degraded"] == 0
    assert shell.tick("words")["finished"] == 2
    assert shell.ok("result", task) == "A POOR\n"
    assert "none of its items is degraded" in shell.fails(Exit.ILLEGAL_MOVE, "retry", task, "--degraded")
    assert "not both" in shell.fails(Exit.BAD_INPUT, "retry", task, "--degraded", "--item", "1")


def test_retry_of_named_items_merges_again(shell: Shell) -> None:
    task = shell.submit("words", "a", "b")
    shell.tick("words")
    shell.ok("retry", task, "--item", "1", "--item", "2", "--stage", "shout")
    assert shell.tick("words")["finished"] == 3
    assert "has no item 9" in shell.fails(Exit.NOT_FOUND, "retry", task, "--item", "9")


def test_merge_goes_on_without_what_failed(shell: Shell) -> None:
    task = shell.submit("words", "a", "bad")
    shell.tick("words")
    assert "ready to merge" in shell.ok("merge", task)


@pytest.mark.parametrize("verb", ["pause", "cancel"])
def test_a_pipeline_with_a_record_of_its_own_has_to_be_named(shell: Shell, verb: str) -> None:
    task = shell.submit("mirrored")
    assert "Name it: --target" in shell.fails(Exit.BAD_INPUT, verb, task)
    assert shell.json(verb, task, "--target", f"{SAMPLES}:mirrored")["state"] in ("paused", "cancelled")


def test_an_active_task_is_not_deleted(shell: Shell) -> None:
    task = shell.submit("words", "a")
    shell.fails(Exit.ILLEGAL_MOVE, "delete", task)
    assert shell.json("show", task)["state"] == "active"


def test_many_tasks_are_submitted_from_a_file_with_one_per_line(shell: Shell, tmp_path: Path) -> None:
    lines = [{"items": ["a"], "key": "one"}, {"items": []}, {"items": ["b"], "title": "Second"}]
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = shell.type("submit", f"{SAMPLES}:words", "--tasks", str(file), "--tag", "many")
    assert said.exit_code == 1
    assert "Line 2 was refused: A task needs at least one item" in said.stderr
    tasks = shell.json("tasks", "--tag", "many")
    assert [task["title"] for task in tasks if task["title"] == "Second"] == ["Second"]
    assert len(tasks) == 2
    file.write_text("[]\n")
    assert "Line 1 is not a JSON object" in shell.fails(5, "submit", f"{SAMPLES}:words", "--tasks", str(file))
