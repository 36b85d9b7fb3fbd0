"""A person decides about parts of results on the command line, with and without a worker for the task."""

import csv
import io
import json
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.running.many_files import saved_results
from fanfold.running.many_files.saving import Saving, whole
from fanfold.running.terminal.exit_codes import Exit
from tests.cli.samples import review
from tests.cli.shell import SAMPLES, Shell
from tests.waiting import eventually

pytestmark = pytest.mark.one_database

TARGET = ("--target", f"{SAMPLES}:review")


def reviewed(shell: Shell) -> str:
    """A completed task of three words."""
    task = shell.submit("review", "one", "two", "three")
    shell.tick("review")
    assert shell.ok("result", task) == "one two three\n"
    return task


def test_where_no_worker_serves_the_task_it_is_merged_here(shell: Shell) -> None:
    task = reviewed(shell)
    assert shell.ok("decide", task, "2", ff.part_key("two"), "reject", *TARGET) == f"{task} is completed\n"
    assert shell.ok("result", task) == "one three\n"
    shell.ok("decide", task[:5], "3", ff.part_key("three"), "replace", "--value", "drei", *TARGET)
    assert shell.ok("result", task) == "one drei\n"
    shell.ok("decide", task, "3", ff.part_key("three"), "replace", "--json-value", "null", *TARGET)
    assert shell.ok("result", task) == "one\n"
    shell.ok("decide", task, "2", ff.part_key("two"), "undo", *TARGET)
    assert shell.ok("result", task) == "one two\n"


def test_decisions_are_listed_and_can_be_made_again_from_that_list(shell: Shell, tmp_path: Path) -> None:
    task = reviewed(shell)
    lines = [
        {"item": "1", "part": ff.part_key("one"), "verdict": "reject"},
        {"item": "2", "part": ff.part_key("two"), "verdict": "replace", "value": "zwei"},
    ]
    file = tmp_path / "decisions.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    shell.ok("decide", task, "--from", str(file), *TARGET)
    assert shell.ok("result", task) == "zwei three\n"
    events = [event for event in shell.json("events", task) if event["verb"] == "decide"]
    assert [(event["reason"], event["actor"]) for event in events] == [("2 decisions about 2 items: 1, 2", "person")]
    listed = shell.json("decisions", task)
    assert [(one["item"], one["verdict"], one["value"]) for one in listed] == [
        ("1", "reject", None),
        ("2", "replace", "zwei"),
    ]
    table = shell.ok("decisions", task, "--item", "2")
    assert "zwei" in table
    assert ff.part_key("one") not in table
    other = reviewed(shell)
    file.write_text(json.dumps(listed))
    shell.ok("decide", other, "--from", str(file), *TARGET)
    assert shell.ok("result", other) == "zwei three\n"
    shell.ok("decide", other, "1", ff.part_key("one"), "undo", *TARGET)
    assert len(shell.json("decisions", other)) == 1
    assert len(shell.json("decisions", other, "--history")) == 3
    assert len(shell.json("decisions", other, "--history", "--after", "2")) == 1


def test_from_the_standard_input(sqlite_shell: Shell) -> None:
    task = reviewed(sqlite_shell)
    one = json.dumps({"item": "1", "part": ff.part_key("one"), "verdict": "reject"})
    sqlite_shell.ok("decide", task, "--from", "-", *TARGET, input=one)
    assert sqlite_shell.ok("result", task) == "two three\n"


def test_the_merge_can_be_left_to_others(sqlite_shell: Shell) -> None:
    task = reviewed(sqlite_shell)
    told = sqlite_shell.ok("decide", task, "2", ff.part_key("two"), "reject", "--no-merge")
    assert told.startswith(f"{task} is ready to merge (")
    eventually(lambda: sqlite_shell.tick("review")["finished"] == 1)
    assert sqlite_shell.ok("result", task) == "one three\n"


def test_without_a_worker_and_without_its_code_it_is_said_what_to_do(sqlite_shell: Shell) -> None:
    task = reviewed(sqlite_shell)
    result = sqlite_shell.type("decide", task, "2", ff.part_key("two"), "reject")
    assert result.exit_code == 0
    assert "no worker serves review, and it is not installed here. To name it: --target" in result.stderr
    assert sqlite_shell.json("show", task)["state"] == "active"


def test_items_that_are_not_done_are_not_begun_by_a_decision(sqlite_shell: Shell) -> None:
    task = sqlite_shell.submit("review", "one", "two")
    assert sqlite_shell.json("decide", task, "2", "x", "reject", *TARGET)["task"]["state"] == "active"
    assert [item["state"] for item in sqlite_shell.json("items", task)] == ["pending", "pending"]


def test_a_merge_that_fails_here_is_told_by_the_exit_code(sqlite_shell: Shell) -> None:
    task = reviewed(sqlite_shell)
    words = ("decide", task, "2", ff.part_key("two"), "replace", "--value", "break", *TARGET)
    result = sqlite_shell.type(*words)
    assert (result.exit_code, result.stdout) == (Exit.FAILED, f"{task} is failed\n")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("1", "x"), Exit.BAD_INPUT, "Name the item, the part and the decision"),
        (("1", "x", "maybe"), Exit.BAD_INPUT, "Unknown verdict 'maybe'"),
        (("1", "x", "replace"), Exit.BAD_INPUT, "Give the replacement"),
        (("1", "x", "accept", "--value", "v"), Exit.BAD_INPUT, "A value is only for replace"),
        (("1", "x", "replace", "--json-value", "{"), Exit.BAD_INPUT, "--json-value is not JSON"),
        (("1", "x", "replace", "--json-value", "1", "--value", "1"), Exit.BAD_INPUT, "not both"),
        (("9", "x", "accept"), Exit.NOT_FOUND, "has no item 9 in spell"),
        (("1", "x", "accept", "--from", "FILE"), Exit.BAD_INPUT, "not both"),
        (("--from", "FILE"), Exit.BAD_INPUT, "Line 2 of"),
    ],
)
def test_what_makes_no_sense_is_said(
    sqlite_shell: Shell, tmp_path: Path, words: tuple[str, ...], code: Exit, said: str
) -> None:
    task = reviewed(sqlite_shell)
    file = tmp_path / "bad.jsonl"
    file.write_text('{"item": "1", "part": "x", "verdict": "accept"}\nnonsense\n')
    typed = [str(file) if word == "FILE" else word for word in words]
    assert said in sqlite_shell.fails(code, "decide", task, *typed)
    assert sqlite_shell.json("decisions", task) == []


@pytest.fixture
def saved(sqlite_shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    """A task whose result a command has saved, and where."""
    command = ff.AppCommand("review", f"{SAMPLES}:review", help="Review.", files=f"{SAMPLES}:review_files")
    monkeypatch.setattr(saved_results, "applications", lambda: (ff.Application("r", title="R", commands=(command,)),))
    source, target = tmp_path / "words.txt", tmp_path / "words.out"
    source.write_text("one two")
    with sqlite_shell.client() as client:
        task = client.submit(review, items=["one", "two"], key="review:abc")
        sqlite_shell.tick("review")
        task = client.get(task.id)
        stamp = f"{task.id} {task.finished_at}"
        saving = Saving(client.store.settings.data_folder)
        saving.save(whole(client.result(task.id), target), target, source, stamp=stamp)
    assert target.read_text() == "one two"
    return task.id, target


def test_a_saved_result_is_written_again(sqlite_shell: Shell, saved: tuple[str, Path]) -> None:
    task, target = saved
    for word, left in (("one", "two"), ("two", "")):
        result = sqlite_shell.type("decide", task, {"one": "1", "two": "2"}[word], ff.part_key(word), "reject", *TARGET)
        assert f"Rewritten: {target}" in result.stderr
        assert target.read_text() == left


def test_a_saved_result_that_was_edited_is_left_alone(sqlite_shell: Shell, saved: tuple[str, Path]) -> None:
    task, target = saved
    target.write_text("my own words")
    answer = sqlite_shell.json("decide", task, "1", ff.part_key("one"), "reject", *TARGET)
    assert (answer["rewritten"], answer["left"]) == ([], [str(target)])
    assert target.read_text() == "my own words"
    result = sqlite_shell.type("decide", task, "2", ff.part_key("two"), "reject", *TARGET)
    assert "was edited after it was saved and is left unchanged" in result.stderr
    assert list(target.parent.glob("*.bak")) == []


def test_a_saved_result_that_is_gone_is_not_written_again(sqlite_shell: Shell, saved: tuple[str, Path]) -> None:
    task, target = saved
    target.unlink()
    assert sqlite_shell.json("decide", task, "1", ff.part_key("one"), "reject", *TARGET)["rewritten"] == []
    assert not target.exists()


def test_a_saved_result_of_an_application_that_is_not_there_is_named(
    sqlite_shell: Shell, saved: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    task, target = saved
    monkeypatch.setattr(saved_results, "applications", lambda: ())
    result = sqlite_shell.type("decide", task, "1", ff.part_key("one"), "reject", *TARGET)
    assert f"{target} still has the earlier result; repeat the command that saved it" in result.stderr
    assert target.read_text() == "one two"


def test_a_saved_result_that_cannot_be_written_again_does_not_hide_that_the_decision_is_kept(
    sqlite_shell: Shell, saved: tuple[str, Path]
) -> None:
    task, target = saved
    target.unlink()
    target.mkdir()
    result = sqlite_shell.type("decide", task, "1", ff.part_key("one"), "reject", *TARGET)
    assert (result.exit_code, result.stdout) == (Exit.OK, f"{task} is completed\n")
    assert f"Cannot write {target}: Is a directory. The task keeps the new result" in result.stderr
    assert [one["verdict"] for one in sqlite_shell.json("decisions", task)] == ["reject"]
    answer = sqlite_shell.json("decide", task, "2", ff.part_key("two"), "reject", *TARGET)
    assert (answer["rewritten"], answer["outdated"]) == ([], [str(target)])


def test_decisions_are_printed_as_csv_that_is_no_formula(shell: Shell) -> None:
    task = reviewed(shell)
    shell.ok("decide", task, "1", "one", "accept", "--no-merge", *TARGET)
    shell.ok("decide", task, "2", "two", "replace", "--value", "=1+1, or\ntwo", "--no-merge", *TARGET)
    rows = list(csv.reader(io.StringIO(shell.ok("decisions", task, "--csv"))))
    assert rows[0] == ["number", "time", "who", "stage", "item", "part", "decision", "value"]
    assert [row[:1] + row[2:3] + row[4:] for row in rows[1:]] == [
        ["1", "person", "1", "one", "accept", ""],
        ["2", "person", "2", "two", "replace", "'=1+1, or\ntwo"],
    ]
