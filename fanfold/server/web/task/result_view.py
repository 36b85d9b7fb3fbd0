"""What came out? The result, or what there is of it, in a form that a page can show: files, a beginning, what is missing."""

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
from fanfold.engine.queries.page import PageQueries
from fanfold.errors import FanfoldError
from fanfold.model.item import Result
from fanfold.model.plan import Kind
from fanfold.model.task import Task
from fanfold.model.values.files import File
from fanfold.server.api.shapes import plain
from fanfold.server.web.frame.markdown import Heading, with_contents

BEGINNING = 100_000
"""So many characters of a result are shown."""
MARKDOWN = (".md", ".markdown")
READ_BYTES = 4_000_000
"""So large may the text of a result be that is read for a look."""
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
    """What can be shown of a result; ``problem`` says why there is none."""

    downloads: tuple[Download, ...] = ()
    beginning: str = ""
    is_cut: bool = False
    problem: str = ""
    of_items: bool = False
    """Whether the result is the list of all outputs, which is not read for a look."""
    is_markdown: bool = False
    """Whether it can be shown rendered."""


@dataclass(frozen=True)
class Rendered:
    """A result as it looks, with its table of contents; ``is_cut`` when there is more of it."""

    html: Markup
    contents: tuple[Heading, ...]
    is_cut: bool


def rendered(found: Outcome) -> Rendered | None:
    """The result rendered, or its beginning where the whole would take too long; None for what is no Markdown."""
    text, is_cut = found.beginning, found.is_cut
    while found.is_markdown and text.strip():
        # The page's own headings stand above those of a document.
        if (made := with_contents(text, "result-", below=2)) is not None:
            return Rendered(*made, is_cut)
        half = text[: len(text) // 2]
        text, is_cut = half[: half.rfind("\n\n")] if "\n\n" in half else half, True
    return None


def outcome(client: Client, task: Task, *, most_bytes: int | None = READ_BYTES) -> Outcome:
    """The result of a task; of a larger text than that only the beginning is read, and files in it are not named."""
    whole = f"/api/v1/tasks/{task.id}/result"
    if task.stages[-1].kind == Kind.EACH:
        return Outcome((Download("result.json", 0, whole),) if task.done else (), of_items=True)
    pipeline = client.pipelines.get(task.pipeline)
    renders = pipeline is None or pipeline.view in ("", "document")
    try:
        large = PageQueries(client.lookup).large_result(task.id)
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
    """The items that the result is without. What a merge reads has no codes: the groups of failures have them."""
    if not task.finished or not task.missing:
        return []
    said: dict[str | None, str] = {str(message): message for *_, message, _ in client.failures(task.id, READ_GROUPS)}
    gaps = islice(client.missing(task.id), MISSING_SHOWN)
    return [gap._replace(error_message=said.get(gap.error_message, gap.error_message)) for gap in gaps]


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


def _look_at(large: File, whole: str, renders: bool) -> Outcome:
    """What a text that is not read as a whole begins with: JSON as it is kept, but a string as the text it is."""
    raw, is_cut = beginning_of(large)
    if not raw.startswith('"'):
        return Outcome((Download("result.json", large.size, whole),), raw, is_cut)
    return Outcome((Download("result.txt", large.size, whole),), string_of(raw), is_cut, is_markdown=renders)


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
