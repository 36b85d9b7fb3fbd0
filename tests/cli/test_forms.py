"""`fanfold result --form` gives the result in a form of its application."""

from pathlib import Path

from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import Shell

TARGET = "tests.engine.offering:lines"


def completed(shell: Shell, *items: str) -> str:
    """The id of a completed task."""
    task = shell.ok("submit", TARGET, "--title", "book.txt", *items).strip()
    shell.ok("tick", TARGET)
    return task


def test_a_result_is_written_in_a_form(shell: Shell, tmp_path: Path) -> None:
    task = completed(shell, "one", "two")
    shell.ok("result", task, "--form", "table", "--target", TARGET, "-o", str(tmp_path))
    assert (tmp_path / "book.csv").read_text() == "1,1 one\n2,2 two\n"
    assert shell.ok("result", task, "--form", "whole", "--target", TARGET) == "1 one\n2 two\n"
    known = shell.json("result", task, "--form", "packed", "--target", TARGET, "-o", str(tmp_path / "x.bin"))
    assert known == {
        "form": "packed",
        "media_type": "application/octet-stream",
        "files": [str(tmp_path / "x.bin")],
    }
    assert (tmp_path / "x.bin").read_bytes().startswith(b"\x001 one")


def test_what_cannot_be_given_is_said_in_one_line(sqlite_shell: Shell) -> None:
    task = completed(sqlite_shell, "one")
    code = {"unknown_pipeline": 3, "no_form": 3, "form_failed": 1}
    said = sqlite_shell.fails(code["unknown_pipeline"], "result", task, "--form", "table")
    assert "The code of the pipeline lines is not known here" in said
    said = sqlite_shell.fails(code["no_form"], "result", task, "--form", "xlsx", "--target", TARGET)
    assert "It has: table, packed" in said
    said = sqlite_shell.fails(code["form_failed"], "result", task, "--form", "broken", "--target", TARGET)
    assert "cannot be made: ZeroDivisionError: cannot divide" in said


def test_a_form_without_some_items_ends_with_code_7(sqlite_shell: Shell) -> None:
    task = completed(sqlite_shell, "one", "bad")
    sqlite_shell.ok("merge", task, "--target", TARGET)
    sqlite_shell.ok("tick", TARGET)
    given = sqlite_shell.type("result", task, "--form", "gaps", "--target", TARGET)
    assert (given.exit_code, given.stdout) == (7, '["2"]')
    assert "Missing from the result: 1 item" in given.stderr


def test_pipelines_lists_the_forms(sqlite_shell: Shell) -> None:
    [pdf] = [one for one in sqlite_shell.json("pipelines") if one["name"] == "pdf"]
    known = {"name": "html", "label": "Web page", "media_type": "text/html", "ending": ".html", "partial": False}
    assert known in pdf["forms"]
    assert "markdown, html" in sqlite_shell.ok("pipelines")


def test_a_partial_form_says_how_far_the_task_is_and_ends_with_code_7(sqlite_shell: Shell) -> None:
    task = sqlite_shell.ok("submit", TARGET, "one", "bad").strip()
    sqlite_shell.ok("tick", TARGET)
    given = sqlite_shell.type("result", task, "--form", "gaps", "--partial", "--target", TARGET)
    assert "can only be made when the task is completed" in given.stderr
    given = sqlite_shell.type("result", task, "--form", "table", "--partial", "--target", TARGET)
    assert (given.exit_code, given.stdout) == (7, "1,1 one\n")
    assert "so far 1 of 2" in given.stderr
    assert "--form NAME" in sqlite_shell.fails(Exit.BAD_INPUT, "result", task, "--partial")
