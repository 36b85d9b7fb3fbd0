"""A document of any file type as numbered lines, with the page of each line and the boxes of its words."""

from __future__ import annotations

import base64
import json
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from fanfold.apps.extract.evidence.folding import Folded, fold

VERSION = 1
# Positions are kept in 1/10000 of the page, which is less than 0.1 point.
_UNITS = 10_000
_LONGEST = 65_535


class RunBox(NamedTuple):
    """Part of a line, as offsets in the line, and its box in fractions of the page, from the top left corner."""

    start: int
    end: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Line:
    """One line. Numbers count from 1 over the whole document."""

    number: int
    text: str
    page: int | None
    heading: bool
    start: int
    """Offset of the line in the text of the document."""
    packed: str = ""
    """The boxes of its runs, packed: decoding them for a whole document takes longer than reading the document."""

    @property
    def end(self) -> int:
        """Offset of the end of the line in the text of the document."""
        return self.start + len(self.text)

    @property
    def runs(self) -> tuple[RunBox, ...]:
        """The boxes of its words, in order."""
        return tuple(_unpacked(self.packed))


class NewLine(NamedTuple):
    """A line that has no number and offset yet."""

    text: str
    page: int | None = None
    heading: bool = False
    runs: Sequence[RunBox] = ()


@dataclass(frozen=True)
class Document:
    """A document: its lines, and the number of pages if it has any."""

    name: str
    sha256: str
    kind: str
    lines: tuple[Line, ...]
    pages: int | None
    notes: tuple[str, ...] = ()
    """What was not read completely: replaced bytes, pages without text."""

    @classmethod
    def of(
        cls,
        name: str,
        sha256: str,
        kind: str,
        lines: Iterable[NewLine],
        pages: int | None = None,
        notes: Iterable[str] = (),
    ) -> Document:
        """A document from its lines."""
        return cls(name, sha256, kind, tuple(_placed(lines)), pages, tuple(notes))

    @cached_property
    def text(self) -> str:
        """All lines, joined by line feeds."""
        return "\n".join(line.text for line in self.lines)

    @cached_property
    def folded(self) -> Folded:
        """The text folded for comparison with quotes."""
        return fold(self.text)

    @cached_property
    def _starts(self) -> list[int]:
        return [line.start for line in self.lines]

    def line_at(self, offset: int) -> Line:
        """The line with this offset of the text. The line feed belongs to the line it ends."""
        return self.lines[max(bisect_right(self._starts, offset) - 1, 0)]

    def page_of(self, offset: int) -> int | None:
        """The page of this offset; None if the document has no pages."""
        return self.line_at(offset).page

    def numbered(self, first: int = 1, last: int | None = None) -> str:
        """Lines for a prompt: ``17| text``, and a mark such as ``[p. 3]`` where a page begins."""
        written: list[str] = []
        page = None
        for line in self.lines[max(first, 1) - 1 : last]:
            if line.page is not None and line.page != page:
                page = line.page
                written.append(f"[p. {page}]")
            written.append(f"{line.number}| {line.text}")
        return "\n".join(written)

    def boxes(self, start: int, end: int) -> list[dict[str, Any]]:
        """The boxes of a range of the text: for each line the union of its runs."""
        if not self.lines or end <= start:
            return []
        first, last = self.line_at(start).number, self.line_at(end - 1).number
        found = (_box(line, start - line.start, end - line.start) for line in self.lines[first - 1 : last])
        return [box for box in found if box is not None]

    def save(self, path: Path) -> None:
        """Write the document as compact JSON."""
        lines = [[line.text, line.page, int(line.heading), line.packed] for line in self.lines]
        told = {"version": VERSION, "name": self.name, "sha256": self.sha256, "kind": self.kind, "pages": self.pages}
        path.write_text(
            json.dumps({**told, "notes": self.notes, "lines": lines}, ensure_ascii=False, separators=(",", ":")),
            encoding="utf-8",
        )

    @classmethod
    def load(cls, path: Path) -> Document:
        """Read a document that was saved."""
        told = json.loads(path.read_bytes())
        lines: list[Line] = []
        start = 0
        for number, (text, page, heading, packed) in enumerate(told["lines"], 1):
            lines.append(Line(number, text, page, bool(heading), start, packed))
            start += len(text) + 1
        return cls(told["name"], told["sha256"], told["kind"], tuple(lines), told["pages"], tuple(told["notes"]))


def _placed(lines: Iterable[NewLine]) -> Iterator[Line]:
    start = 0
    for number, line in enumerate(lines, 1):
        text = line.text.replace("\n", " ").replace("\r", " ")
        yield Line(number, text, line.page, line.heading, start, _packed(line.runs))
        start += len(text) + 1


def _packed(runs: Sequence[RunBox]) -> str:
    """Six 16-bit numbers per run; a run whose offset does not fit into 16 bits has no box."""
    numbers = array("H")
    for run in runs:
        if run.end <= _LONGEST:
            numbers.extend((run.start, run.end, *(round(min(max(edge, 0.0), 1.0) * _UNITS) for edge in run[2:])))
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes()).decode()


def _unpacked(packed: str) -> Iterator[RunBox]:
    numbers = array("H", base64.b64decode(packed))
    if sys.byteorder == "big":
        numbers.byteswap()
    for at in range(0, len(numbers), 6):
        start, end, *edges = numbers[at : at + 6]
        yield RunBox(start, end, *(edge / _UNITS for edge in edges))


def _box(line: Line, start: int, end: int) -> dict[str, Any] | None:
    """The union of the runs of a line between two offsets in the line."""
    parts = [part for run in line.runs if (part := _part(run, start, end)) is not None]
    if not parts:
        return None
    x, y = min(part[0] for part in parts), min(part[1] for part in parts)
    right, bottom = max(part[2] for part in parts), max(part[3] for part in parts)
    edges = {"x": x, "y": y, "width": right - x, "height": bottom - y}
    return {"page": line.page, **{name: round(edge, 4) for name, edge in edges.items()}}


def _part(run: RunBox, start: int, end: int) -> tuple[float, float, float, float] | None:
    """Left, top, right and bottom of part of a run, assuming that all its characters are equally wide."""
    first, last = max(run.start, start), min(run.end, end)
    if first >= last:
        return None
    each = run.width / (run.end - run.start)
    left = run.x + (first - run.start) * each
    return left, run.y, left + (last - first) * each, run.y + run.height
