"""Typed values on the command line: JSON comes in, and readable JSON comes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from tests.cli.shell import Shell
from tests.engine import typed
from tests.server.test_typed_api import SHOWN, WRITTEN

PAGES = "tests.server.typed_pages:pages"


def test_json_is_taken_and_readable_json_is_given(shell: Shell, tmp_path: Path) -> None:
    items = tmp_path / "items.jsonl"
    items.write_text(json.dumps(WRITTEN) + "\n")
    found = shell.json("run", PAGES, "--items", str(items))
    assert found["result"] == [SHOWN]
    assert shell.json("output", found["task"]["id"], "1") == SHOWN
    assert shell.json("result", found["task"]["id"])["result"] == [SHOWN]
    assert json.loads(shell.ok("result", found["task"]["id"])) == [SHOWN]


def test_run_gives_typed_values_back(sqlite_url: str, tmp_path: Path) -> None:
    where: dict[str, Any] = {"database": sqlite_url, "data": str(tmp_path / "data"), "progress": False}
    made = ff.run(typed.book, **where)
    assert type(made) is typed.Book
    assert ff.run(typed.book, **where) == made, "done before"
    again = ff.run(typed.stamp, typed.CHAPTERS[0], typed.ADDED, **where)
    assert again["chapter"] == typed.CHAPTERS[0]


def test_an_application_that_prints_typed_values_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    from fanfold.running.terminal.output_format import print_json

    print_json({"page": typed.page_of(typed.CHAPTERS[0])})
    page = json.loads(capsys.readouterr().out)["page"]
    assert (page["price"], page["source"], page["footnotes"][0]["text"]) == ("1.10", "scans/One", "seven")
