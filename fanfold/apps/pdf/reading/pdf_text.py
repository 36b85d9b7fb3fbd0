"""The text of a PDF with the place of every run: what ``fanfold.apps.pdf.read`` returns.

This is a contract with other applications. Fields may be added, but none changes its meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on the displayed page, in fractions of its width and height, from the top left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of a line, usually one word, with its box."""

    text: str
    start: int
    """Offset in the text of the line."""
    box: Box


@dataclass(frozen=True, slots=True)
class LineText:
    """One line of a column. Wide gaps between table cells are tab characters."""

    text: str
    box: Box
    runs: list[Run]
    heading: bool = False


@dataclass(frozen=True, slots=True)
class PageText:
    """One page: its lines in reading order."""

    number: int
    """From 1."""
    width: float
    """In points."""
    height: float
    lines: list[LineText]
    source: Literal["text", "ocr"]
    running: list[LineText] = field(default_factory=list)
    """Running heads and page numbers, which would interrupt sentences that continue on the next page."""
    problem: str | None = None
    """Why the page has no text, or less than it shows."""


@dataclass(frozen=True, slots=True)
class PdfText:
    """A document: its pages in order."""

    pages: list[PageText]
    total: int
    """Number of pages in the whole document, including pages that were not read."""
