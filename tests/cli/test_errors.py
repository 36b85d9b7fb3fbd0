"""Bad input gets a clear sentence, a named exit code, and no traceback."""

import errno
import json
import re
from pathlib import Path

import pytest
import sqlalchemy as sa

from fanfold.engine.client import Client
from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import SAMPLES, Shell

SAMPLES_FILE = Path(__file__).parent / "samples.py"


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        (Exit.NOT_FOUND, ("run", "nope"), "There is no pipeline 'nope'"),
        (Exit.NOT_FOUND, ("run", "nope.py:book"), "There is no file nope.py"),
        (Exit.NOT_FOUND, ("tick", "nope.py"), "There is no file nope.py"),
        (Exit.NOT_FOUND, ("tick", str(SAMPLES_FILE)), f"Name one, such as {SAMPLES_FILE}:words"),
        (Exit.NOT_FOUND, ("run", "no.such.module:book"), "There is no module no"),
        (Exit.NOT_FOUND, ("submit", f"{SAMPLES}:nope"), f"There is no 'nope' in {SAMPLES}. It has: words"),
        (Exit.NOT_FOUND, ("submit", f"{SAMPLES}:pages", "nope.txt"), "There is no file nope.txt"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:pages", "tests"), "tests is a folder"),
        (Exit.BAD_INPUT, ("run", f"{SAMPLES}:ff.Pipeline"), "is not a pipeline"),
        (Exit.BAD_INPUT, ("run", f"{SAMPLES}:words"), "Name at least one"),
        (Exit.BAD_INPUT, ("run", f"{SAMPLES}:words", "a", "--option", "mood"), "'mood' is not an option"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:words", "a", "--retry-limit", "-1"), "retry limit is -1"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:words", "a", "--key", ""), "The key must have 1 to 200 characters"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:words", "a", "--tag", ""), "A tag must have 1 to 100"),
        (Exit.BAD_INPUT, ("submit", "pdf"), "or .xhtml, and none was given. Give one as an input."),
        (Exit.BAD_INPUT, ("run", "pdf"), "needs a file that ends with .pdf or .png"),
        (Exit.NOT_FOUND, ("show", "t-nope"), "There is no task t-nope"),
        (Exit.NOT_FOUND, ("show", "t-"), "There is no task t-"),
        (Exit.NOT_FOUND, ("pause", "nope"), "There is no task nope"),
        (Exit.NOT_FOUND, ("delete", "nope", "--yes"), "There is no task nope"),
        (Exit.BAD_INPUT, ("tasks", "--state", "odd"), "Unknown task state odd"),
        (Exit.BAD_INPUT, ("tasks", "--limit", "0"), "from 1 to 1000"),
        (Exit.NOT_FOUND, ("tasks", "--after", "nope"), "There is no task nope"),
        (Exit.BAD_INPUT, ("worker", "--stages", "odd"), "Unknown stage odd"),
        (Exit.NOT_FOUND, ("worker", "nope", "--processes", "2"), "There is no pipeline 'nope'"),
        (Exit.USAGE, ("frobnicate",), "No such command 'frobnicate'"),
        (Exit.USAGE, ("show",), "Missing argument 'ID'"),
        (Exit.USAGE, ("tasks", "--odd"), "No such option"),
        (Exit.USAGE, ("tick", "--seconds", "0"), "Invalid value for '--seconds'"),
        (Exit.USAGE, ("submit", f"{SAMPLES}:words", "a", "--priority", "high"), "is not a valid integer"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_in_a_sentence(
    sqlite_shell: Shell, code: Exit, words: tuple[str, ...], said: str
) -> None:
    assert said in sqlite_shell.fails(code, *words)


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        (Exit.NOT_FOUND, ("show", "\udcff"), r"There is no task \udcff"),
        (Exit.NOT_FOUND, ("merge", "\udcff"), r"There is no task \udcff"),
        (Exit.BAD_INPUT, ("cancel", "TASK", "--reason", "\udcff"), "The reason contains half a surrogate pair"),
        (Exit.NOT_FOUND, ("retry", "TASK", "--item", "\udcff"), r"has no item \udcff in"),
        (Exit.NOT_FOUND, ("output", "TASK", "\udcff"), r"has no item \udcff in"),
        (Exit.BAD_INPUT, ("external", "TASK", "lost", "--reason", "\udcff"), "The reason contains half"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:words", "a", "--title", "\udcff"), "The title contains half"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:words", "a", "--key", "\udcff"), "The key contains half"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:words", "a", "--owner", "\udcff"), "The owner contains half"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:words", "a", "--tag", "\udcff"), "A tag contains half"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:words", "a", "--title", "t" * 1_001), "at most 1000 characters"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:words", "a", "-O", 'x="\\u0000"'), "NUL"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:words", "--items", "NUL"), "input of item 1 contains a NUL"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:words", "--items", "DEEP"), "Line 1 of .* is nested too deeply"),
        (Exit.BAD_INPUT, ("submit", f"{SAMPLES}:words", "--items", "DIGITS"), "number with too many digits"),
        (Exit.NOT_FOUND, ("tokens", "revoke", "\udcff"), r"There is no token \udcff"),
        (Exit.USAGE, ("wait", "TASK", "--timeout", "nan"), "nan is not a finite number"),
        (Exit.USAGE, ("prune", "--days", "inf"), "inf is not a finite number"),
        (Exit.USAGE, ("tick", "--seconds", "nan"), "nan is not a finite number"),
    ],
)  # fmt: skip
def test_odd_input_is_refused_in_a_sentence_on_both_databases(
    shell: Shell, tmp_path: Path, code: Exit, words: tuple[str, ...], said: str
) -> None:
    files = {"NUL": "a\0b\n", "DEEP": "[" * 100_000, "DIGITS": "1" * 5_000}
    places = {"TASK": shell.submit("words", "a")}
    for name, content in files.items():
        places[name] = str(tmp_path / f"{name}.jsonl" if name != "NUL" else tmp_path / name)
        Path(places[name]).write_text(content)
    found = shell.fails(code, *(places.get(word, word) for word in words))
    assert re.search(said if "\\" not in said else re.escape(said), found), found


def test_several_ids_that_are_no_text_are_answered_in_json(sqlite_shell: Shell) -> None:
    answer = sqlite_shell.type("cancel", "\udcff", "t-nope", "--json")
    assert answer.exit_code == Exit.NOT_FOUND
    assert [one["error"]["code"] for one in json.loads(answer.stdout)] == ["not_found", "not_found"]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "The database URL is malformed"),
        ("mysql://somewhere/x", "not in mysql"),
        ("sqlite://folder/file.db", "sqlite:///folder/file.db"),
        ("postgresql://nobody@127.0.0.1:1/x", "Cannot use the database"),
        ("sqlite:////dev/null/x.db", "Cannot create the folder of the database"),
    ],
)
def test_a_database_that_cannot_be_used_is_told_plainly(sqlite_shell: Shell, url: str, said: str) -> None:
    assert said in sqlite_shell.fails(Exit.DATABASE, "tasks", "--database", url)
    assert said in sqlite_shell.fails(Exit.DATABASE, "--database", url, "tasks")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.EMFILE, "Too many open files", "book.pdf"), "Raise the limit on open files (ulimit -n)"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device. Free some space on that disk"),
    ],
)
def test_a_machine_without_files_or_space_is_told_with_the_way_out(
    sqlite_shell: Shell, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Client, "submit", refuse)
    told = sqlite_shell.fails(Exit.SHORTAGE, "submit", f"{SAMPLES}:words", "a")
    assert said in told
    assert "Unexpected" not in told


def test_a_database_of_a_newer_version_is_refused(shell: Shell, client: Client) -> None:
    with client.store.write() as tx:
        tx.connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    assert "made by a newer version" in shell.fails(Exit.DATABASE, "tasks")
    assert "knows only up to" in shell.fails(Exit.DATABASE, "db", "upgrade")
    assert shell.json("db", "current")["fits"] is False
    assert shell.type("doctor").exit_code == Exit.UNHEALTHY


def test_an_illegal_command_names_the_possible_ones(shell: Shell) -> None:
    task = shell.submit("words", "a")
    assert f"Possible now: fanfold pause {task}" in shell.fails(Exit.ILLEGAL_MOVE, "resume", task)
    shell.ok("cancel", task)
    assert "Task" in shell.fails(Exit.ILLEGAL_MOVE, "cancel", task)


def test_an_ambiguous_id_lists_what_it_fits(shell: Shell, client: Client) -> None:
    tasks = [shell.submit("words", "a") for _ in range(2)]
    with client.store.write() as tx:
        for task, name in zip(tasks, ("t-aaa222", "t-aaa333"), strict=True):
            tx.connection.execute(sa.text("UPDATE tasks SET id = :name WHERE id = :id"), {"name": name, "id": task})
    assert "t-aaa222, t-aaa333" in shell.fails(Exit.NOT_FOUND, "show", "aaa")
    assert shell.json("show", "aaa2")["id"] == "t-aaa222"
    assert shell.json("show", "t-AAA2")["id"] == "t-aaa222"


def test_a_file_that_is_not_python_is_told_from_one_that_is_missing(sqlite_shell: Shell, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import fanfold as ff\nraise RuntimeError('no luck')\n")
    assert "cannot be loaded: RuntimeError: no luck" in sqlite_shell.fails(Exit.BAD_INPUT, "run", f"{broken}:book")


def test_settings_that_make_no_sense_are_refused(sqlite_shell: Shell) -> None:
    sqlite_shell.environment["FANFOLD_CONCURRENCY"] = "many"
    assert "Setting concurrency is 'many'" in sqlite_shell.fails(Exit.BAD_INPUT, "tasks")


def test_the_unforeseen_is_one_sentence_and_a_traceback_only_with_v(
    sqlite_shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client, "list", lambda *_, **__: 1 // 0)
    result = sqlite_shell.type("tasks")
    assert result.exit_code == Exit.UNEXPECTED
    assert result.stderr.startswith("Error: Unexpected ZeroDivisionError")
    assert "Traceback" not in result.stderr
    assert "Traceback" in sqlite_shell.type("-v", "tasks").stderr


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("nan", "NaN or infinity"),
        ("nul", "NUL character"),
        ("object", "a value of type object is not JSON"),
        ("huge", "the limit is 64 MB"),
        ("silent", "ValueError without a message"),
    ],
)
def test_a_handler_that_misbehaves_fails_its_item_with_the_reason(shell: Shell, item: str, reason: str) -> None:
    result = shell.type("run", f"{SAMPLES}:odd", item, "fine")
    assert result.exit_code == Exit.PARTIAL, result.output
    task = shell.json("tasks")[0]["id"]
    failed, fine = shell.json("items", task)
    assert reason in failed["error_message"]
    assert fine["state"] == "done"


def test_a_broken_line_of_items_is_named(sqlite_shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('"a"\n{"b"\n')
    said = sqlite_shell.fails(Exit.BAD_INPUT, "submit", f"{SAMPLES}:words", "--items", str(path))
    assert "Line 2" in said


@pytest.mark.parametrize("command", ["worker", "tick", "serve"])
def test_two_pipelines_of_one_name_are_refused(sqlite_shell: Shell, command: str) -> None:
    said = sqlite_shell.fails(Exit.BAD_INPUT, command, f"{SAMPLES}:words", f"{SAMPLES}:other_words")
    assert "Two pipelines are named words" in said
    assert said.count("samples.py:") == 2
