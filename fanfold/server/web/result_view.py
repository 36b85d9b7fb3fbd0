"""What came out? The result, or what there is of it, in a form that a page can show: files, a beginning, what is missing."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
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
from fanfold.server.api.shapes import plain

BEGINNING = 4_000
READ_BYTES = 4_000_000
"""So large may the text of a result be that is read for a look."""
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


def outcome(client: Client, task: Task, *, most_bytes: int | None = READ_BYTES) -> Outcome:
    """The result of a task; of a larger text than that only the beginning is read, and files in it are not named."""
    whole = f"/api/v1/tasks/{task.id}/result"
    if task.stages[-1].kind == Kind.EACH:
        return Outcome((Download("result.json", 0, whole),) if task.done else (), of_items=True)
    try:
        large = client.large_result(task.id)
        if large is not None and most_bytes is not None and large.size > most_bytes:
            return _look_at(large, whole)
        value = client.result(task.id)
    except FanfoldError as problem:
        return Outcome(problem=problem.message)
    if isinstance(value, File):
        return Outcome((Download(value.name, value.size, whole),), *beginning_of(value))
    files = _named_files(value)
    downloads = [Download(file.name, file.size, f"{whole}/{quote(name, safe='')}") for name, file in files.items()]
    shown = next((shown for file in files.values() if (shown := beginning_of(file))[0]), None)
    if shown is None:
        text = as_text(value, task.id)
        shown = text[:BEGINNING], len(text) > BEGINNING
        name = "result.txt" if isinstance(value, str) else "result.json"
        downloads = downloads or [Download(name, len(text.encode()), whole)]
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
        # Strict, but for a character that is cut off at the end.
        text = getincrementaldecoder("utf-8")().decode(raw, final=len(raw) < BEGINNING)
    except UnicodeDecodeError:
        return "", False
    return ("", False) if "\0" in text else (text, len(raw) < file.size)


def as_text(value: Any, task_id: str) -> str:
    """Text as it is, anything else as JSON in which files have their names and addresses."""
    return value if isinstance(value, str) else json.dumps(plain(value, task_id), ensure_ascii=False, indent=2)


def files_in(value: Any) -> Iterator[File]:
    """Every file in a value, in order."""
    if isinstance(value, File):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from files_in(inner)


def _look_at(large: File, whole: str) -> Outcome:
    """What a text that is not read as a whole begins with: JSON as it is kept, but a string as the text it is."""
    raw, is_cut = beginning_of(large)
    if not raw.startswith('"'):
        return Outcome((Download("result.json", large.size, whole),), raw, is_cut)
    return Outcome((Download("result.txt", large.size, whole),), string_of(raw), is_cut)


def string_of(raw: str) -> str:
    """The text of a JSON string that breaks off, maybe within an escaped character."""
    for end in range(len(raw), len(raw) - len(r"\u0000"), -1):
        try:
            return str(json.loads(raw[:end] + '"'))
        except ValueError:
            pass
    return raw


def _named_files(value: Any) -> dict[str, File]:
    if not isinstance(value, dict):
        return {}
    return {str(name): file for name, file in value.items() if isinstance(file, File)}
