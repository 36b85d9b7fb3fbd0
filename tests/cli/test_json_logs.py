"""Log lines as JSON: one object per line with its context, including lines of handlers, and without keys."""

import json
import logging
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from fanfold.engine.client import Client
from fanfold.engine.logs import JsonFormatter, LogFields, logged_as
from fanfold.model.values.secrets import BLANK
from tests.cli.shell import Shell
from tests.cli.talkative import talk

KEY = 'sk-"quoted"\\9f8e7d6c5b4a'
"""A key that JSON escapes."""
FIELDS = LogFields("t-0123456789ab", "convert", "p1", 2, "worker-1")


def record(message: str, *given: Any, logger: str = "mine", **more: Any) -> logging.LogRecord:
    """A record as a logger makes it."""
    more = {"exc_info": None, **more}
    return logging.getLogger(logger).makeRecord(logger, logging.WARNING, "file", 1, message, given, **more)


def line(one: logging.LogRecord) -> dict[str, Any]:
    """The record as a line, read again."""
    text = JsonFormatter().format(one)
    assert "\n" not in text
    text.encode("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.one_database
def test_every_line_of_a_worker_is_json_and_says_what_it_is_about(shell: Shell, client: Client) -> None:
    task = client.submit(talk, items=["a"]).id
    process = shell.start("tick", "tests.cli.talkative:talk", FANFOLD_LOG="json", SOME_API_KEY=KEY)
    _, said = process.communicate(timeout=200)
    lines = [json.loads(one) for one in said.splitlines()]
    assert "9f8e7d6c5b4a" not in said
    own = {one["message"].split()[1]: one for one in lines if one["logger"] == "talkative"}
    assert set(own) == {"loop", "errand", "thread", "child"}
    for where, one in own.items():
        stage = "loop" if where == "errand" else where
        assert (one["task"], one["stage"], one["item"], one["attempt"]) == (task, stage, "1", 1)
        assert one["message"] == f"in {where} with {BLANK}"
        assert (one["colour"], one["user_password"], one["level"]) == ("red", BLANK, "warning")
    [warned] = [one for one in lines if one["logger"] == "py.warnings"]
    assert warned["stage"] == "thread"
    [failed] = [one for one in lines if one["logger"] == "fanfold.worker" and one.get("item")]
    assert (failed["task"], failed["stage"], failed["worker"]) == (task, "child", own["child"]["worker"])
    assert "went\nwrong" in failed["message"]


@pytest.mark.one_database
def test_lines_stay_text_unless_json_is_asked_for(shell: Shell, client: Client) -> None:
    client.submit(talk, items=["a"])
    process = shell.start("tick", "tests.cli.talkative:talk", SOME_API_KEY=KEY)
    _, said = process.communicate(timeout=200)
    assert "] Failed child 1 of t-" in said
    assert "in thread with" in said
    assert '"message"' not in said


def test_a_command_that_only_looks_logs_json_as_well(sqlite_shell: Shell) -> None:
    Path(sqlite_shell.database.removeprefix("sqlite:///")).chmod(0o644)
    process = sqlite_shell.start("tasks", FANFOLD_LOG="json")
    _, said = process.communicate(timeout=200)
    [one] = [json.loads(line) for line in said.splitlines() if "it is private now" in line]
    assert (one["logger"], one["level"]) == ("fanfold.store", "warning")


def test_a_line_has_its_time_its_level_its_logger_and_its_exception() -> None:
    try:
        raise ValueError("no")
    except ValueError:
        one = record("it %s", "failed", exc_info=sys.exc_info())
    one._marked = "by a library for itself"
    found = line(one)
    assert datetime.fromisoformat(found["time"]).utcoffset() is not None
    assert (found["level"], found["logger"], found["message"]) == ("warning", "mine", "it failed")
    assert found["exception"].endswith("ValueError: no")
    assert set(found) == {"time", "level", "logger", "message", "exception"}


def test_a_key_is_blanked_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    try:
        raise ValueError(f"no key {KEY}")
    except ValueError:
        one = record("with %s", KEY, exc_info=sys.exc_info(), extra={"request": {"header": KEY}}, sinfo=f"at {KEY}")
    with logged_as(FIELDS._replace(item=f"item {KEY}")):
        text = json.dumps(line(one), ensure_ascii=False)
    assert "9f8e7d6c5b4a" not in text
    assert text.count(BLANK) >= 5


def test_the_fields_of_an_attempt_are_those_of_its_context_only() -> None:
    with logged_as(FIELDS):
        assert line(record("here")).items() >= FIELDS._asdict().items()
    assert "task" not in line(record("there"))


@pytest.mark.parametrize(
    ("speaker", "field"), [("worker-3f2a9c", "worker"), ("t-0123456789ab", "task")], ids=["worker", "task"]
)
def test_who_speaks_in_a_line_of_the_worker_is_a_field(speaker: str, field: str) -> None:
    found = line(record("[%s] Started", speaker, logger="fanfold.worker"))
    assert found[field] == speaker
    assert found["message"] == f"[{speaker}] Started"
    assert field not in line(record("[%s] Started", speaker, logger="mine"))


def test_what_is_not_json_or_not_text_is_written_all_the_same() -> None:
    found = line(record("odd \udcff", extra={"rate": float("nan"), "thing": object, "count": 3, "task": "mine"}))
    assert found["message"] == "odd \udcff"
    assert (found["rate"], found["count"], found["task"]) == ("nan", 3, "mine")
