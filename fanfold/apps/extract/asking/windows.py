"""Divides a document that is too long for one question into windows by section, with overlap. Nothing is left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fanfold.apps.extract.documents.document import Document, Line
from fanfold.model.values.token_estimate import guessed_tokens

SHARE = 0.6
"""Largest share of the model's context for the document: the token estimate may be too low, and the answer needs room."""
OVERLAP = 0.15
LEAST_TOKENS = 500
MARK_TOKENS = 4
"""Tokens of a line number."""


@dataclass(frozen=True)
class Window:
    """Lines of a document, as they are sent."""

    first: int
    last: int
    text: str
    number: int = 1
    count: int = 1


def windows(document: Document, context: int, beside: int = 0) -> list[Window]:
    """The whole document if it fits, otherwise windows that end before a heading where possible.

    ``context`` is the context size of the model in tokens, ``beside`` the tokens of the rest of the question.
    """
    room = max(LEAST_TOKENS, int(context * SHARE) - beside)
    sizes = [_size(line) for line in document.lines]
    if sum(sizes) <= room:
        return [Window(1, len(document.lines), document.numbered())]
    ranges = _ranges(document, sizes, room)
    made = [window for first, last in ranges for window in _cut(document, first, last, room)]
    return [replace(window, number=number, count=len(made)) for number, window in enumerate(made, 1)]


def _size(line: Line) -> int:
    return guessed_tokens(line.text) + MARK_TOKENS


def _ranges(document: Document, sizes: list[int], room: int) -> Iterator[tuple[int, int]]:
    """First and last line of each window, counted from 1."""
    first = 0
    while first < len(sizes):
        last, used = first, sizes[first]
        while last + 1 < len(sizes) and used + sizes[last + 1] <= room:
            last += 1
            used += sizes[last]
        if last + 1 < len(sizes):
            last = _before_heading(document, first, last)
        yield first + 1, last + 1
        if last + 1 >= len(sizes):
            return
        first = _back(sizes, first, last, room)


def _before_heading(document: Document, first: int, last: int) -> int:
    """The last line of a window: before the last heading of its second half, else before an empty line there, else as given."""
    half = range(last, first + (last - first) // 2, -1)
    found = next((at for at in half if document.lines[at].heading), None)
    if found is None:
        found = next((at for at in half if not document.lines[at].text.strip()), None)
    return last if found is None or found - 1 <= first else found - 1


def _back(sizes: list[int], first: int, last: int, room: int) -> int:
    """The first line of the next window: far enough back to overlap, but after the start of this window."""
    at, used = last + 1, 0
    while at - 1 > first and used + sizes[at - 1] <= room * OVERLAP:
        at -= 1
        used += sizes[at]
    return at


def _cut(document: Document, first: int, last: int, room: int) -> Iterator[Window]:
    """The window; a single line that is longer than a window is cut into overlapping pieces."""
    line = document.lines[first - 1]
    if first < last or _size(line) <= room:
        yield Window(first, last, document.numbered(first, last))
        return
    length = max(1, int(len(line.text) * room / _size(line)))
    mark = f"[p. {line.page}]\n" if line.page is not None else ""
    for start in range(0, len(line.text), max(1, int(length * (1 - OVERLAP)))):
        yield Window(first, last, f"{mark}{line.number}| {line.text[start : start + length]}")
        if start + length >= len(line.text):
            return


def around(document: Document, lines: list[int], room: int, *, each: int = 15) -> str:
    """The lines around the given line numbers that fit; without line numbers, the beginning of the document."""
    wanted = sorted({at for line in lines or [1] for at in range(line - each, line + each + 1)})
    shown: list[str] = []
    before = None
    for at in wanted:
        if not 1 <= at <= len(document.lines):
            continue
        text = document.numbered(at, at)
        room -= guessed_tokens(text)
        if room < 0:
            break
        if before is not None and at > before + 1:
            shown.append("…")
        # Only the first line of each stretch is marked with its page.
        shown.append(text if before is None or at > before + 1 else text.rpartition("\n")[2])
        before = at
    return "\n".join(shown)
