"""Strict mypy and strict pyright accept a correct pipeline, and find every mistake that was planted in it.

Pyright runs as basedpyright: the same checker, installed with its own Node.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
FOUND = re.compile(r":(\d+): error: .* \[([a-z-]+)\]$")
PLANTED = re.compile(r"# mistake: ([a-z-]+)(, mypy only)?$")
AFTERMATH = "untyped-decorator"
"""Mypy adds this error when the call of a decorator is wrong."""
PROGRAM = '''
"""A pipeline as somebody writes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, assert_type

import fanfold as ff


@dataclass
class Chapter:
    title: str
    written: date


@dataclass
class Page:
    text: str
    price: Decimal


CHAPTER = Chapter("One", date(1890, 1, 2))
book = ff.Pipeline("book", types=[Chapter])


@book.split(timeout=60)
def chapters(task: ff.TaskWork[ff.File]) -> Iterator[ff.NewItem[Chapter]]:
    assert_type(task.input, ff.File)
    yield ff.NewItem(key="1", input=Chapter("One", date(1890, 1, 2)))
    yield ff.NewItem(key=2, input=Chapter("Two", date(1890, 1, 2)))  # mistake: arg-type
    yield ff.NewItem(key="3", input="Three")  # mistake: arg-type


@book.each(retry=ff.Retry(limit=2))
async def translate(item: ff.ItemWork[Chapter, Page]) -> Page:
    assert_type(item.input, Chapter)
    print(item.input.titel)  # mistake: attr-defined
    return Page(item.input.title, Decimal("0.1"))


@book.each(retries=2)  # mistake: call-overload
def proofread(item: ff.ItemWork[Page]) -> Page:
    return item.input


@book.each  # mistake: type-var
def two(item: ff.ItemWork, results: ff.Results) -> None: ...


@book.each(timeout="soon")  # mistake: call-overload
def late(item: ff.ItemWork) -> None: ...


@book.merge
def bind(task: ff.TaskWork, results: ff.Results[Page, Page]) -> str:
    for result in results:
        assert_type(result.output, Page)
        print(result.output.prise)  # mistake: attr-defined
    return "\\n".join(result.output.text for result in results)


@book.merge  # mistake: type-var
def one(task: ff.TaskWork) -> None: ...


@ff.task
def stamp(chapter: Chapter, at: date) -> Page:
    return Page(chapter.title, Decimal(0))


def use() -> None:
    assert_type(ff.run(stamp, Chapter("One", date(1890, 1, 2)), date(2026, 1, 1)), Page)
    stamp("One", date(2026, 1, 1))  # mistake: arg-type
    ff.register_codec(Chapter, encode=lambda chapter: chapter.title, decode=lambda kept: Chapter(kept, date.min))
    ff.register_codec(Chapter, encode=lambda one: one.titel, decode=lambda kept: CHAPTER)  # mistake: attr-defined
    ff.register_codec(Chapter, encode=str, decode=Decimal)  # mistake: arg-type, mypy only
    ff.Pipeline("other", kinds=[Chapter])  # mistake: call-arg


def plain(item: ff.ItemWork) -> Any:
    return item.input
'''


def planted(*, for_pyright: bool = False) -> dict[int, str]:
    """The planted mistakes: line to mypy's name of the error.

    Pyright accepts one of them: it widens the type variable of ``register_codec`` to ``Chapter | Decimal``.
    """
    marks = {number: PLANTED.search(line) for number, line in enumerate(PROGRAM.splitlines(), 1)}
    return {number: mark[1] for number, mark in marks.items() if mark and not (for_pyright and mark[2])}


def pyright(folder: Path, mode: str, include: Path, *import_from: Path) -> list[dict[str, Any]]:
    """The errors that pyright finds in a file or a folder."""
    settings = {"typeCheckingMode": mode, "include": [str(include)], "extraPaths": [str(one) for one in import_from]}
    project = folder / "pyrightconfig.json"
    project.write_text(json.dumps(settings), encoding="utf-8")
    called = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(project)]
    checked = subprocess.run(called, capture_output=True, text=True, cwd=folder, check=False)
    assert checked.returncode in (0, 1), checked.stdout + checked.stderr
    said = json.loads(checked.stdout)
    assert said["summary"]["filesAnalyzed"] > 0, said
    return [one for one in said["generalDiagnostics"] if one["severity"] == "error"]


def known(folder: Path) -> Path:
    """A copy of what mypy knows of the package after `make check`, if that was run: checking all of it again takes long."""
    made = ROOT / ".mypy_cache"
    copied = folder / "mypy"
    shutil.copytree(made, copied) if made.exists() else copied.mkdir()
    return copied


def test_mypy_finds_the_planted_mistakes_and_no_others(tmp_path: Path) -> None:
    program = tmp_path / "book.py"
    program.write_text(PROGRAM, encoding="utf-8")
    options = ["--strict", "--no-error-summary", "--no-pretty", "--cache-dir", str(known(tmp_path))]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(program)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        check=False,
    )
    marked = set(planted().items())
    found = {(int(match[1]), match[2]) for line in checked.stdout.splitlines() if (match := FOUND.search(line))}
    assert len(marked) == 12
    assert found - {(line, AFTERMATH) for line, _ in marked} == marked, checked.stdout


def test_pyright_finds_the_planted_mistakes_and_no_others(tmp_path: Path) -> None:
    """One mistake may give several errors on its line, so lines are compared."""
    program = tmp_path / "book.py"
    program.write_text(PROGRAM, encoding="utf-8")
    found = pyright(tmp_path, "strict", program, ROOT)
    marked = planted(for_pyright=True)
    assert len(marked) == 11
    assert {one["range"]["start"]["line"] + 1 for one in found} == set(marked), found


def test_pyright_accepts_the_examples(tmp_path: Path) -> None:
    found = pyright(
        tmp_path, "standard", EXAMPLES, ROOT, EXAMPLES, EXAMPLES / "django_app", EXAMPLES / "own_application"
    )
    assert found == []
