"""`run` can be resumed, and says what happens."""

import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.client import Client
from fanfold.running.terminal.exit_codes import Exit
from tests.cli import samples
from tests.cli.shell import SAMPLES, Shell
from tests.waiting import eventually


def test_a_file_is_copied_in_split_and_merged_again(shell: Shell, tmp_path: Path) -> None:
    source = tmp_path / "lines.txt"
    source.write_text("one\ntwo\n")
    result = shell.type("run", f"{SAMPLES}:pages", str(source))
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("list.md, 12 bytes: ")
    assert "  - one\n  - two\n" in result.stdout
    assert "completed 100 %: 2/2" in result.stderr
    assert "\x1b" not in result.output


def test_a_function_gets_its_arguments_as_json_or_text(shell: Shell) -> None:
    assert shell.ok("run", f"{SAMPLES}:add", "2", "3") == "5\n"
    assert shell.ok("run", f"{SAMPLES}:add", "a", "--option", "b=b") == "ab\n"
    assert shell.json("run", f"{SAMPLES}:add", "[1]", "--option", "b=[2]")["result"] == [1, 2]


def test_items_are_the_words_or_the_lines_of_a_file(sqlite_shell: Shell, tmp_path: Path) -> None:
    lines = tmp_path / "items.txt"
    lines.write_text("b\n\nc\n")
    assert sqlite_shell.ok("run", f"{SAMPLES}:words", "a", "--items", str(lines)) == "A B C\n"
    typed = sqlite_shell.ok("run", f"{SAMPLES}:words", "--items", "-", input="x\ny\n")
    assert typed == "X Y\n"


def test_the_same_run_is_done_once(shell: Shell) -> None:
    shell.ok("run", f"{SAMPLES}:words", "a")
    again = shell.type("run", f"{SAMPLES}:words", "a")
    task = shell.json("tasks")[0]["id"]
    assert again.stdout == "A\n"
    assert f"Already done as {task}" in again.stderr
    assert len(shell.json("tasks")) == 1


def test_other_inputs_or_options_are_another_task_and_fresh_is_anew(shell: Shell) -> None:
    shell.ok("run", f"{SAMPLES}:words", "a")
    shell.ok("run", f"{SAMPLES}:words", "b")
    shell.ok("run", f"{SAMPLES}:words", "a", "--option", "x=1")
    shell.ok("run", f"{SAMPLES}:words", "a", "--fresh")
    assert len(shell.json("tasks")) == 4
    assert "Already done" in shell.type("run", f"{SAMPLES}:words", "a").stderr


def test_running_again_retries_what_failed(shell: Shell) -> None:
    said = shell.type("run", f"{SAMPLES}:words", "a", "bad")
    assert said.exit_code == Exit.PARTIAL
    assert "to merge without the failed items: fanfold merge" in said.stderr
    task = shell.json("tasks")[0]["id"]
    again = shell.type("run", f"{SAMPLES}:words", "a", "bad")
    assert again.exit_code == Exit.PARTIAL
    assert f"Resuming {task}: partial, 1 of 2 done" in again.stderr
    done, failed = shell.json("items", task)
    assert (done["attempts"], failed["attempts"]) == (1, 1)
    shell.ok("merge", task)
    merged = shell.type("run", f"{SAMPLES}:words", "a", "bad")
    assert (merged.exit_code, merged.stdout) == (Exit.PARTIAL, "A\n")


@pytest.mark.parametrize("verb", ["pause", "cancel"])
def test_running_again_goes_on_with_what_was_stopped(shell: Shell, verb: str) -> None:
    with shell.client() as client:
        key = key_of("words", ["a", "b"])
        task = client.submit(samples.words, items=["a", "b"], key=key)
        getattr(client, verb)(task.id)
    result = shell.type("run", f"{SAMPLES}:words", "a", "b")
    assert result.stdout == "A B\n"
    assert f"Resuming {task.id}" in result.stderr


def test_a_gate_stops_a_run_until_somebody_resumes_it(shell: Shell) -> None:
    assert "To continue: fanfold resume" in shell.fails(Exit.WAITING, "run", f"{SAMPLES}:gated")
    task = shell.json("tasks")[0]["id"]
    shell.ok("resume", task)
    assert shell.ok("run", f"{SAMPLES}:gated") == "2\n"


def test_straight_through_passes_gates_also_of_a_task_that_waits(shell: Shell) -> None:
    assert shell.ok("run", f"{SAMPLES}:gated", "--straight-through", "--option", "x=1") == "2\n"
    shell.type("run", f"{SAMPLES}:gated")
    assert shell.ok("run", f"{SAMPLES}:gated", "--straight-through") == "2\n"


def test_the_result_goes_where_it_should(sqlite_shell: Shell, tmp_path: Path) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.md"
    source.write_text("one\n")
    sqlite_shell.ok("run", f"{SAMPLES}:pages", str(source), "-o", str(target))
    assert target.read_text() == "- one\n"
    assert sqlite_shell.ok("run", f"{SAMPLES}:pages", str(source), "-o", "-") == "- one\n"


def test_an_interrupted_run_goes_on_where_it_was(shell: Shell, client: Client, tmp_path: Path) -> None:
    go = tmp_path / "go"
    words = ("run", f"{SAMPLES}:held", "free", "x", "y", "--option", f"go={go}")
    process = shell.start(*words, FANFOLD_GRACE_SECONDS="0.1")
    task = eventually(lambda: states(client) == ["done", "running", "running"] and client.list()[0].id)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=100)
    assert process.returncode == Exit.INTERRUPTED, said
    assert "Interrupted; run it again to resume" in said
    assert states(client) == ["done", "pending", "pending"]
    go.touch()
    result = shell.json(*words)
    assert result["result"] == ["free", "x", "y"]
    assert result["task"]["id"] == task
    assert [item["crashes"] for item in shell.json("items", str(task))] == [0, 0, 0]


def test_a_second_signal_stops_a_run_at_once(shell: Shell, client: Client, tmp_path: Path) -> None:
    process = shell.start(
        "run", f"{SAMPLES}:held", "x", "--option", f"go={tmp_path / 'go'}", FANFOLD_GRACE_SECONDS="600"
    )
    eventually(lambda: states(client) == ["running"])
    process.send_signal(signal.SIGTERM)
    assert process.stderr is not None
    eventually(lambda: "interrupt again to stop immediately" in (process.stderr.readline() if process.stderr else ""))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=100)
    assert process.returncode == Exit.INTERRUPTED
    assert states(client) == ["pending"]


def test_a_killed_run_goes_on_at_once(shell: Shell, client: Client, tmp_path: Path) -> None:
    go = tmp_path / "go"
    words = ("run", f"{SAMPLES}:held", "free", "x", "--option", f"go={go}")
    process = shell.start(*words)
    eventually(lambda: states(client) == ["done", "running"])
    process.kill()
    process.wait()
    go.touch()
    assert shell.json(*words)["result"] == ["free", "x"]
    events = shell.json("events", client.list()[0].id)
    assert [(event["actor"], event["item"]) for event in events if event["verb"] == "reclaim"] == [("run", "2")]


def test_run_from_python_returns_the_result_and_raises_when_there_is_none(shell: Shell, tmp_path: Path) -> None:
    place: dict[str, Any] = {"database": shell.database, "data": str(shell.data)}
    assert ff.run(samples.words, items=["a", ff.NewItem("k", "b")], progress=False, **place) == "A B"
    assert ff.run(samples.add, 1, 2, progress=False, **place) == 3
    source = tmp_path / "in.txt"
    source.write_text("one\n")
    assert ff.run(samples.pages, str(source), progress=False, **place).read_text() == "- one\n"
    with pytest.raises(ff.TaskStopped, match="ended as failed") as stopped:
        ff.run(samples.words, items=["bad"], progress=False, **place)
    assert stopped.value.state == "failed"


def test_a_task_of_older_code_says_that_its_stage_is_gone(shell: Shell) -> None:
    shell.type("run", f"{SAMPLES}:gated")
    other = ff.Pipeline("gated")
    other.step(samples.first)
    with pytest.raises(ff.BadPipeline, match="started with the stage second"):
        ff.run(other, database=shell.database, data=str(shell.data), progress=False)


def test_the_demo_runs_without_anything(sqlite_shell: Shell) -> None:
    printed = sqlite_shell.ok("run", "demo", "--option", "pages=18", "--option", "seconds=0")
    assert printed.startswith("demo.md, ")
    assert "This is page 1. It was written in small letters." in printed
    assert sqlite_shell.json("tasks")[0]["retries"] == 2


def states(client: Client) -> list[str]:
    """The states of the items of the newest task."""
    tasks = client.list()
    return [item.state.value for item in client.items(tasks[0].id)] if tasks else []


def key_of(pipeline: str, items: list[str]) -> str:
    """The key under which `run` finds its task again."""
    from fanfold.engine.tasks.submitting.inputs import fingerprint

    return "run:" + fingerprint(pipeline, [{"items": items}], {})


def test_a_lost_database_is_said_and_waited_for(sqlite_shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from fanfold.store.rows.tasks import Tasks

    real, refusals = Tasks.get, iter(range(3))

    def get(self: Tasks, number: int) -> Any:
        if threading.current_thread().name == "run-watcher" and next(refusals, None) is not None:
            raise ff.DatabaseProblem("Cannot use the database.", code="unreachable")
        return real(self, number)

    monkeypatch.setattr(Tasks, "get", get)
    result = sqlite_shell.type("run", f"{SAMPLES}:words", "a")
    assert (result.exit_code, result.stdout) == (0, "A\n")
    assert result.stderr.count("database lost since") == 1
    assert "database reachable again" in result.stderr
