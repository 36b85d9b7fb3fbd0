"""`fanfold do` runs the actions of an application, with their own options."""

from tests.cli.shell import Shell

TARGET = ("--target", "tests.engine.offering:lines")


def completed(shell: Shell) -> str:
    """The id of a completed task."""
    task = shell.ok("submit", TARGET[1], "one").strip()
    shell.ok("tick", TARGET[1])
    return task


def test_an_action_has_its_own_options(shell: Shell) -> None:
    task = completed(shell)
    said = shell.ok("do", task, "approve", "--note", "fine", "--times", "3", *TARGET)
    assert said.splitlines()[0] == "person approved 1 lines 3 times: fine"
    known = shell.json("do", *TARGET, task, "approve", "--note", "again")
    assert (known["message"], known["task"]["state"]) == ("person approved 1 lines 1 times: again", "completed")
    assert [event["verb"] for event in shell.json("events", task)].count("do") == 2


def test_actions_are_listed_with_whether_they_are_possible(sqlite_shell: Shell) -> None:
    task = completed(sqlite_shell)
    known = {one["name"]: one["possible"] for one in sqlite_shell.json("do", task, *TARGET)}
    assert known == {"approve": True, "mend": False, "stumble": True, "remove": True}
    assert "--note --times" in sqlite_shell.ok("do", task, *TARGET)


def test_what_cannot_be_done_is_said_in_one_line(sqlite_shell: Shell) -> None:
    task = completed(sqlite_shell)
    assert "needs a task that is partial" in sqlite_shell.fails(4, "do", task, "mend", *TARGET)
    assert "has no action 'praise'" in sqlite_shell.fails(3, "do", task, "praise", *TARGET)
    assert "cannot divide" in sqlite_shell.fails(1, "do", task, "stumble", *TARGET)
    assert "is not known here" in sqlite_shell.fails(3, "do", task, "approve")
    assert sqlite_shell.type("do", task, "approve", "--tims", "3", *TARGET).exit_code == 2
    assert sqlite_shell.type("do", task, "approve", "--times", "10", *TARGET).exit_code == 2
