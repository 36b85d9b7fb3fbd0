"""What came out? The result, or what there is of it, in a form that a page can show: files, a beginning, what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

from fanfold.engine.client import Client
from fanfold.errors import FanfoldError
from fanfold.model.files import File
from fanfold.model.item import Result
from fanfold.model.plan import Kind
from fanfold.model.task import Task

BEGINNING = 4_000
MISSING_SHOWN = 50


@dataclass(frozen=True)
class Download:
    """A file to download."""

    name: str
    size: int
    address: str


@dataclass(frozen=True)
class Outcome:
    """What can be shown of a result; ``problem`` says why there is none."""

    downloads: tuple[Download, ...] = ()
    beginning: str = ""
    is_cut: bool = False
    problem: str = ""
    of_items: bool = False
    """Whether the result is the list of all outputs, which is not read for a look."""


def outcome(client: Client, task: Task) -> Outcome:
    """The result of a task."""
    whole = f"/api/v1/tasks/{task.id}/result"
    if task.stages[-1].kind == Kind.EACH:
        return Outcome((Download("result.json", 0, whole),) if task.done else (), of_items=True)
    try:
        value = client.result(task.id)
    except FanfoldError as problem:
        return Outcome(problem=problem.message)
    if isinstance(value, File):
        return Outcome((Download(value.name, value.size, whole),), *beginning_of(value))
    text = as_text(value)
    files = _named_files(value)
    downloads = [Download(file.name, file.size, f"{whole}/{quote(name, safe='')}") for name, file in files.items()]
    if not files:
        downloads = [Download("result.txt" if isinstance(value, str) else "result.json", len(text.encode()), whole)]
    first = next((file for file in files.values() if beginning_of(file)[0]), None)
    shown = beginning_of(first) if first else (text[:BEGINNING], len(text) > BEGINNING)
    return Outcome(tuple(downloads), *shown)


def missing(client: Client, task: Task) -> list[Result]:
    """The items that the result is without."""
    return list(islice(client.missing(task.id), MISSING_SHOWN)) if task.finished and task.missing else []


def beginning_of(file: File) -> tuple[str, bool]:
    """The beginning of a text file, and whether there is more; nothing of any other file."""
    try:
        with file.open() as source:
            raw = source.read(BEGINNING)
    except OSError:
        return "", False
    try:
        text = raw.decode("utf-8") if len(raw) < BEGINNING else raw.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        return "", False
    return ("", False) if "\0" in text or text.startswith("%PDF") else (text, len(raw) < file.size)


def as_text(value: Any) -> str:
    """Text as it is, anything else as JSON in which files have their names."""
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False, indent=2)


def plain(value: Any) -> Any:
    """The value with files as their names and sizes."""
    if isinstance(value, File):
        return {"file": value.name, "size": value.size}
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def files_in(value: Any) -> Iterator[File]:
    """Every file in a value, in order."""
    if isinstance(value, File):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from files_in(inner)


def address_of(task_id: str, file: File) -> str:
    """Where a file of a task can be downloaded."""
    return f"/api/v1/tasks/{task_id}/files/{quote(file.key.rpartition('/')[2], safe='')}"


def _named_files(value: Any) -> dict[str, File]:
    if not isinstance(value, dict):
        return {}
    return {str(name): file for name, file in value.items() if isinstance(file, File)}
