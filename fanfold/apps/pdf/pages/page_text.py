"""The text of one page, as a child process returns it. Its own module, because a worker need not import the reading code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fanfold.apps.pdf.figures.areas import Area


@dataclass(frozen=True)
class PageText:
    """One page: its Markdown, its plain text, and whether that text is unreliable."""

    page: int
    markdown: str
    text: str
    needs_ocr: bool
    problem: str | None = None
    lost: str | None = None
    """Message about text that is on the page but not in its Markdown."""
    figures: tuple[Area, ...] = ()
    """The areas of its figures."""
    illustrated: str = ""
    """Its Markdown with its figures; empty if they are not wanted."""
