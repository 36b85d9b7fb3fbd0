"""Prepares a task's result for the page: files, a preview and what is missing."""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from fanfold.engine.client import Client
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.errors import FanfoldError
from fanfold.model.item import Result
from fanfold.model.plan import Kind
from fanfold.model.task import Task
from fanfold.model.values.files import File
from fanfold.server.api.shapes.json_values import plain
from fanfold.server.web.frame.markdown import Heading, with_contents

BEGINNING = 100_000
"""Characters of a result shown on the page."""
MARKDOWN = (".md", ".markdown")
READ_BYTES = 4_000_000
"""Largest result loaded for a preview."""
MISSING_SHOWN = 50
READ_GROUPS = 500


@dataclass(frozen=True)
class Download:
    """A file to download."""

    name: str
    size: int
    address: str


@dataclass(frozen=True)
class Outcome:
    """The parts of a result to show; ``problem`` says why there is none."""

    downloads: tuple[Download, ...] = ()
    beginning: str = ""
    is_cut: bool = False
    problem: str = ""
    of_items: bool = False
    """Whether the result is the list of all outputs, which is not loaded for a preview."""
    is_markdown: bool = False
    """Whether it can be rendered as Markdown."""


@dataclass(frozen=True)
class Rendered:
    """A rendered result with its table of contents; ``is_cut`` if it is only the beginning."""

    html: Markup
    contents: tuple[Heading, ...]
    is_cut: bool


def rendered(found: Outcome) -> Rendered | None:
    """The rendered result, or its beginning if all of it would take too long; None if it is not Markdown."""
    text, is_cut = found.beginning, found.is_cut
    while found.is_markdown and text.strip():
        # The document's headings go below the page's own.
        if (made := with_contents(text, "result-", below=2)) is not None:
            return Rendered(*made, is_cut)
        half = text[: len(text) // 2]
        text, is_cut = half[: half.rfind("\n\n")] if "\n\n" in half else half, True
    return None


def outcome(client: Client, task: Task, *, most_bytes: int | None = READ_BYTES) -> Outcome:
    """The result of a task. If a text is larger than ``most_bytes``, only its beginning is read and files are not listed."""
    whole = f"/api/v1/tasks/{task.id}/result"
    if task.stages[-1].kind == Kind.EACH:
        return Outcome((Download("result.json", 0, whole),) if task.done else (), of_items=True)
    pipeline = client.pipelines.get(task.pipeline)
    renders = pipeline is None or pipeline.view in ("", "document")
    try:
        large = WebQueries(client.lookup).large_result(task.id)
        if large is not None and most_bytes is not None and large.size > most_bytes:
            return _look_at(large, whole, renders)
        value = client.result(task.id)
    except FanfoldError as problem:
        return Outcome(problem=problem.message)
    if isinstance(value, File):
        return Outcome(
            (Download(value.name, value.size, whole),), *beginning_of(value), is_markdown=_is_markdown(value)
        )
    files = _named_files(value)
    downloads = [Download(file.name, file.size, f"{whole}/{quote(name, safe='')}") for name, file in files.items()]
    for file in files.values():
        if (shown := beginning_of(file))[0]:
            return Outcome(tuple(downloads), *shown, is_markdown=_is_markdown(file))
    text, is_text = as_text(value, task.id), isinstance(value, str)
    downloads = downloads or [Download("result.txt" if is_text else "result.json", len(text.encode()), whole)]
    is_cut = len(text) > BEGINNING
    return Outcome(tuple(downloads), text[:BEGINNING], is_cut, is_markdown=is_text and renders)


def _is_markdown(file: File) -> bool:
    return file.name.lower().endswith(MARKDOWN)


def missing(client: Client, task: Task) -> list[Result]:
    """Items missing from the result, without error codes, which only the failure groups have."""
    if not task.finished or not task.missing:
        return []
    said: dict[str | None, str] = {str(message): message for *_, message, _ in client.failures(task.id, READ_GROUPS)}
    gaps = islice(client.missing(task.id), MISSING_SHOWN)
    return [gap._replace(error_message=said.get(gap.error_message, gap.error_message)) for gap in gaps]


def beginning_of(file: File) -> tuple[str, bool]:
    """The beginning of a text file, and whether there is more; empty for any other file."""
    try:
        with file.open() as source:
            raw = source.read(BEGINNING)
    except OSError:
        return "", False
    try:
        # Strict decoding, except for a character cut off at the end.
        text = getincrementaldecoder("utf-8")().decode(raw, final=len(raw) < BEGINNING)
    except UnicodeDecodeError:
        return "", False
    return ("", False) if "\0" in text else (text, len(raw) < file.size)


def as_text(value: Any, task_id: str) -> str:
    """Text unchanged, anything else as JSON with file names and URLs."""
    return value if isinstance(value, str) else json.dumps(plain(value, task_id), ensure_ascii=False, indent=2)


def files_in(value: Any) -> Iterator[File]:
    """Every file in a value, in order."""
    if isinstance(value, File):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from files_in(inner)


def _look_at(large: File, whole: str, renders: bool) -> Outcome:
    """Preview of a text too large to load: raw JSON, or the text of a JSON string."""
    raw, is_cut = beginning_of(large)
    if not raw.startswith('"'):
        return Outcome((Download("result.json", large.size, whole),), raw, is_cut)
    return Outcome((Download("result.txt", large.size, whole),), string_of(raw), is_cut, is_markdown=renders)


def string_of(raw: str) -> str:
    """The text of a truncated JSON string, which may end within an escape sequence."""
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
