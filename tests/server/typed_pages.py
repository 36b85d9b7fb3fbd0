"""A pipeline with typed items, a picture and a form, which a server and its child processes find by name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import fanfold as ff
from tests.server.drawings import DOT


@dataclass
class Chapter:
    """What comes in, as an object or as JSON."""

    title: str
    written: date


@dataclass
class Page:
    """What goes out."""

    markdown: str
    price: Decimal
    scan: bytes = b"\0"


def draw(chapter: Chapter) -> bytes:
    """A dot for what is a chapter."""
    assert isinstance(chapter, Chapter)
    return DOT


pages = ff.Pipeline("typed_pages", picture=draw)


@pages.each
def translate(item: ff.ItemWork[Chapter, Page]) -> Page:
    """A page that says when its chapter was written."""
    chapter = item.input
    item.emit(chapter.written)
    return Page(f"# {chapter.title}\n\n{chapter.written:%d.%m.%Y}", Decimal("1.10"))


@pages.merge
def bind(task: ff.TaskWork, results: ff.Results[Chapter, Page]) -> list[Page]:
    """All pages."""
    return [result.output for result in results]


@pages.form("prices", media_type="text/plain")
def prices(work: ff.FormWork) -> str:
    """The sum of all prices."""
    return str(sum((page.price for page in work.result), Decimal(0)))
