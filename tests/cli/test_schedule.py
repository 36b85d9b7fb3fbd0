"""Schedules and start times from the command line."""

from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import Shell

ADD = ("schedule", "add", "nightly", "0 3 * * *", "demo", "--zone", "Europe/Berlin", "-O", "pages=2")


def test_a_schedule_is_added_shown_run_paused_and_removed(sqlite_shell: Shell) -> None:
    shell = sqlite_shell
    assert "Added nightly: next at" in shell.ok(*ADD)
    assert "nightly" in shell.ok("schedule")
    assert len(shell.ok("schedule", "show", "nightly", "--next", "3").splitlines()) == 3
    task = shell.ok("schedule", "run", "nightly").strip()
    assert shell.json("show", task)["options"] == {"pages": 2}
    assert task in shell.ok("schedule", "show", "nightly")
    assert shell.ok("schedule", "pause", "nightly") == "nightly is paused\n"
    assert shell.json("schedule", "resume", "nightly")["paused"] is False
    assert shell.ok("schedule", "remove", "nightly") == "Removed nightly\n"
    assert "no schedule nightly" in shell.fails(Exit.NOT_FOUND, "schedule", "show", "nightly")


def test_each_task_of_a_schedule_gets_the_budget(sqlite_shell: Shell) -> None:
    shell = sqlite_shell
    shell.ok(*ADD, "--budget", "0.25", "--allow-unknown-cost")
    assert "budget of each task: $0.25" in shell.ok("schedule", "show", "nightly")
    budget = shell.json("budget", shell.ok("schedule", "run", "nightly").strip())["budget"]
    assert (budget["cap"], budget["allow_unknown_cost"]) == (0.25, True)
    assert "budget" in shell.fails(Exit.BAD_INPUT, *ADD, "--strict-budget")


def test_a_wrong_expression_is_refused_with_an_example(sqlite_shell: Shell) -> None:
    said = sqlite_shell.fails(Exit.BAD_INPUT, "schedule", "add", "x", "99 * * * *", "demo")
    assert "such as 0 3 * * *" in said


def test_a_task_is_submitted_for_later(sqlite_shell: Shell) -> None:
    shell = sqlite_shell
    task = shell.json("submit", "demo", "--delay", "3600")
    assert (task["state"], task["status"], task["needs_you"]) == ("waiting", "scheduled", None)
    assert shell.json("submit", "demo", "--at", "2199-01-01T00:00+00:00")["start_at"].startswith("2199-01-01T00:00")
    assert "is not a time" in shell.fails(Exit.BAD_INPUT, "submit", "demo", "--at", "soon")
