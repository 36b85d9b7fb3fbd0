"""Pipelines with typed inputs and outputs, for handlers in this process and in child processes, which find them by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import BaseModel

import fanfold as ff


class Kind(Enum):
    """What a chapter is."""

    PROSE = "prose"
    VERSE = "verse"


@dataclass(frozen=True)
class Chapter:
    """What is translated."""

    title: str
    written: date
    kind: Kind = Kind.PROSE
    tags: frozenset[str] = frozenset()
    notes: dict[int, str] = field(default_factory=dict)


class Footnote(BaseModel):
    """Part of a page, as a pydantic model."""

    text: str
    added: datetime


@dataclass(frozen=True)
class Page:
    """What a chapter becomes."""

    title: str
    price: Decimal
    number: UUID
    scan: bytes
    source: Path
    footnotes: tuple[Footnote, ...]
    pid: int = 0


@dataclass(frozen=True)
class Book:
    """What all pages become."""

    pages: list[Page]
    opens: time
    loan: timedelta


CHAPTERS = [
    Chapter("One", date(1890, 1, 2), Kind.VERSE, frozenset({"a", "b"}), {7: "seven"}),
    Chapter("Two", date(1891, 3, 4)),
]
ADDED = datetime(2026, 11, 17, 12, 0, tzinfo=UTC)
NUMBER = UUID("12345678-1234-5678-1234-567812345678")

book = ff.Pipeline("typed_book")
isolated_book = ff.Pipeline("isolated_book")


def page_of(chapter: Chapter) -> Page:
    """The page that a chapter becomes."""
    assert type(chapter) is Chapter, chapter
    assert type(chapter.written) is date
    notes = (Footnote(text=chapter.notes.get(7, "none"), added=ADDED),)
    price = Decimal("1.10") if chapter.kind is Kind.VERSE else Decimal("2.20")
    return Page(chapter.title, price, NUMBER, b"\0scan", Path("scans") / chapter.title, notes)


@book.split
@isolated_book.split(isolate=True)
def chapters(task: ff.TaskWork) -> Iterator[ff.NewItem[Chapter]]:
    """One item per chapter."""
    for chapter in CHAPTERS:
        yield ff.NewItem(key=chapter.title, input=chapter)


@book.each
def translate(item: ff.ItemWork[Chapter, Page]) -> Page:
    """A dataclass in, a dataclass out."""
    item.remember(at=ADDED, chapter=item.input)
    assert item.memory == {"at": ADDED, "chapter": item.input}
    return page_of(item.input)


@isolated_book.each(isolate=True)
def translate_elsewhere(item: ff.ItemWork[Chapter, Page]) -> Page:
    """The same in a child process."""
    made = page_of(item.input)
    return Page(**{**vars(made), "pid": os.getpid()})


@book.each
def proofread(item: ff.ItemWork[Page]) -> Page:
    """A following `each` gets what the one before made."""
    assert type(item.input) is Page
    return item.input


@book.merge
def bind(task: ff.TaskWork, results: ff.Results[Any, Page]) -> Book:
    """All pages."""
    pages = [result.output for result in results]
    assert all(type(page) is Page for page in pages)
    return Book(pages, time(9, 30), timedelta(days=14, microseconds=1))


@isolated_book.merge(isolate=True)
def bind_elsewhere(task: ff.TaskWork, results: ff.Results) -> Book:
    """In a child process, and without a word about what the results are."""
    return bind(task, results)


@ff.task
def stamp(chapter: Chapter, at: datetime, *more: Decimal, kind: Kind = Kind.PROSE, **rest: Any) -> dict[str, Any]:
    """A function with typed arguments."""
    return {"chapter": chapter, "at": at, "more": list(more), "kind": kind, **rest}
