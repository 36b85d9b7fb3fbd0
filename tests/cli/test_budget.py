"""A person sets, sees and raises the budget of a task, at the terminal and in a program."""

from pathlib import Path

import pytest

import fanfold as ff
from tests.ai_protocol import Reply
from tests.ai_server import AIServer
from tests.cli.samples import asks
from tests.cli.shell import SAMPLES, Shell

DOLLAR = Reply(text="yes", output_tokens=0)


def test_a_run_stops_at_its_budget_and_goes_on_with_a_larger_one(shell: Shell, ai: AIServer) -> None:
    ai.answer(DOLLAR)
    words = ("run", f"{SAMPLES}:asks", *"abcde", "--concurrency", "1")
    stopped = shell.type(*words, "--budget", "2.5")
    assert stopped.exit_code != 0
    assert "The budget is used up: $2.00 of $2.50 spent" in stopped.stderr
    [task] = shell.json("tasks")
    assert task["state"] == "paused"
    assert "$2.00 of $2.50" in shell.ok("budget", task["id"])
    assert len(ai.paid) == 2
    shell.ok(*words, "--budget", "20")
    assert len(ai.paid) == 5, "what was paid for is not paid for again"
    assert shell.json("budget", task["id"])["budget"]["cap"] == 20.0


def test_raising_resumes_the_task(shell: Shell, ai: AIServer) -> None:
    ai.answer(DOLLAR)
    task = shell.submit("asks", *"abcde", "--budget", "1.5")
    shell.tick("asks")
    assert shell.json("show", task)["state"] == "paused"
    assert f"Possible now: fanfold budget {task} --raise AMOUNT, fanfold resume {task}" in shell.ok("show", task)
    said = shell.ok("budget", task, "--raise", "2")
    assert "of $3.50" in said
    assert f"{task} is" in said
    assert shell.json("show", task)["state"] == "active"
    shell.tick("asks")
    assert shell.json("show", task)["state"] == "paused"
    shell.ok("budget", task, "--to", "100")
    shell.tick("asks")
    found = shell.json("budget", task)
    assert (found["task"]["state"], found["budget"]["spent"], found["left"]) == ("completed", 5.0, 95.0)
    assert found["budget"]["projected"] == 5.0


def test_a_budget_that_is_none_is_said(sqlite_shell: Shell) -> None:
    shell = sqlite_shell
    assert "not an amount of money" in shell.fails(5, "submit", f"{SAMPLES}:asks", "a", "--budget", "much")
    assert "too small to be counted" in shell.fails(5, "submit", f"{SAMPLES}:asks", "a", "--budget", "0.0000000004")
    assert "name the budget" in shell.fails(5, "submit", f"{SAMPLES}:asks", "a", "--strict-budget")
    task = shell.submit("asks", "a")
    assert "no budget" in shell.ok("budget", task)
    assert f"fanfold budget {task} --to 5.00" in shell.fails(5, "budget", task, "--raise", "1")
    assert "name one of them" in shell.fails(5, "budget", task, "--raise", "1", "--to", "2")
    shell.ok("budget", task, "--to", "3", "--strict", "--allow-unknown-cost")
    assert "strict, unknown costs allowed" in shell.ok("budget", task)


def test_every_command_that_begins_tasks_takes_a_budget(sqlite_shell: Shell) -> None:
    for command in ("run", "submit", "convert"):
        said = sqlite_shell.ok(command, "--help")
        for option in ("--budget", "--strict-budget", "--allow-unknown-cost"):
            assert option in said, command


def test_a_program_runs_with_a_budget(
    sqlite_url: str, tmp_path: Path, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ai.answer(DOLLAR)

    def run(budget: float) -> object:
        return ff.run(
            asks, items=[1, 2, 3], database=sqlite_url, data=str(tmp_path / "data"), progress=False, budget=budget
        )

    with pytest.raises(ff.TaskStopped, match=r"of \$0.50 spent"):
        run(0.5)
    assert run(50) == ["yes"] * 3
    assert len(ai.paid) == 3
