"""A type checker passes a good pipeline, and finds every mistake that was planted in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOUND = re.compile(r":(\d+): error: .* \[([a-z-]+)\]$")
AFTERMATH = "untyped-decorator"
"""What mypy adds when the call of a decorator is wrong."""
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
    ff.register_codec(Chapter, encode=str, decode=Decimal)  # mistake: arg-type
    ff.Pipeline("other", kinds=[Chapter])  # mistake: call-arg


def plain(item: ff.ItemWork) -> Any:
    return item.input
'''


def test_a_type_checker_finds_the_planted_mistakes_and_no_others(tmp_path: Path) -> None:
    program = tmp_path / "book.py"
    program.write_text(PROGRAM, encoding="utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--no-pretty", str(program)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        check=False,
    )
    lines = PROGRAM.splitlines()
    planted = {(n, line.partition("# mistake: ")[2]) for n, line in enumerate(lines, 1) if "# mistake: " in line}
    found = {(int(match[1]), match[2]) for line in checked.stdout.splitlines() if (match := FOUND.search(line))}
    assert len(planted) == 12
    assert found - {(line, AFTERMATH) for line, _ in planted} == planted, checked.stdout
