"""Subtasks and gates that ask, from the command line."""

from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import Shell


def test_subtasks_are_shown_with_links_both_ways_and_a_gate_takes_an_answer(sqlite_shell: Shell) -> None:
    shell = sqlite_shell
    task = shell.submit("volume")
    shell.tick("volume")
    (child,) = shell.json("tasks", "--parent", task)
    assert (child["title"], child["parent"], child["parent_stage"]) == ("Four twice", task, "measure")
    assert f"{task} (measure 1)" in shell.ok("show", child["id"])
    shown = shell.ok("show", task)
    assert f"1 completed: fanfold tasks --parent {task}" in shown
    assert "formal, plain" in shown
    assert f"fanfold resume {task} --answer tone=…" in shown
    assert "needs an answer to tone" in shell.fails(Exit.BAD_INPUT, "resume", task)
    assert "formal" in shell.fails(Exit.BAD_INPUT, "resume", task, "--answer", "tone=loud")
    assert "NAME=VALUE" in shell.fails(Exit.BAD_INPUT, "resume", task, "--answer", "loud")
    assert shell.json("resume", task, "--answer", "tone=plain", "--answer", "copies=3")["state"] == "active"
    shell.tick("volume")
    assert shell.ok("result", task) == "3 × plain: 8\n"
    assert '{"tone": "plain", "copies": 3}' in shell.ok("show", task)
    assert "deleted with it" in shell.fails(Exit.ILLEGAL_MOVE, "delete", child["id"])
    shell.ok("delete", task)
    assert shell.json("tasks") == []
