"""Reads lines, columns and pages of Arabic and Hebrew from right to left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fanfold.apps.pdf.markdown import cleaning
from fanfold.apps.pdf.markdown.pieces import Piece, Table

if TYPE_CHECKING:
    from fanfold.apps.pdf.markdown.blocks import Block
    from fanfold.apps.pdf.markdown.lines import Line


def is_mostly_right_to_left(texts: Iterable[str]) -> bool:
    """Whether most letters are of scripts that run from right to left."""
    own = others = 0
    for text in texts:
        here = 0 if text.isascii() else sum(map(cleaning.is_right_to_left, text))
        own, others = own + here, others + sum(map(str.isalpha, text)) - here
    return own > others


def reordered(levels: Sequence[int]) -> list[int]:
    """The positions of a line from left to right in reading order, by their levels: odd ones run from right to left."""
    order = list(range(len(levels)))
    for level in range(max(levels, default=0), 0, -1):
        start = 0
        while start < len(order):
            end = start
            while end < len(order) and levels[order[end]] >= level:
                end += 1
            order[start:end] = reversed(order[start:end])
            start = end + 1
    return order


def in_reading_order(pieces: list[Piece], column: Sequence[Piece | Table]) -> list[Piece]:
    """The pieces of a line, given from left to right; Latin words among Arabic ones keep their order, and vice versa."""
    kinds = [_kind(piece.text) for piece in pieces]
    if "R" not in kinds:
        return pieces
    texts = [box.text for box in column if isinstance(box, Piece)]
    base = is_mostly_right_to_left(texts) if "L" in kinds else True
    levels = [_level(kind, kinds[:at][::-1], kinds[at + 1 :], base=base) for at, kind in enumerate(kinds)]
    return [pieces[at] for at in reordered(levels)]


def _kind(text: str) -> str:
    if cleaning.is_right_to_left(text):
        return "R"
    return "L" if any(map(str.isalpha, text)) else "N"


def _level(kind: str, before: Sequence[str], after: Sequence[str], *, base: bool) -> int:
    if kind == "R":
        return 1
    beside = {next((other for other in side if other != "N"), "") for side in (before, after)}
    if base:
        return 2 if kind == "L" or beside == {"L"} else 1
    return 1 if kind == "N" and beside == {"R"} else 0


@contextmanager
def mirrored(boxes: Sequence[Piece | Table], width: float) -> Iterator[bool]:
    """Turn a page of Arabic or Hebrew around, so that its columns, indents and line ends are found as those of other pages.

    Yields whether it is such a page. At the end everything is where it was.
    """
    is_turned = is_mostly_right_to_left(box.text for box in boxes if isinstance(box, Piece))
    for box in boxes if is_turned else ():
        turn(box, width)
    try:
        yield is_turned
    finally:
        for box in boxes if is_turned else ():
            turn(box, width)


def turn_lines(blocks: Iterable[Block], width: float) -> None:
    """Swap left and right of the lines of blocks."""
    for line in (line for block in blocks for line in block.lines):
        turn(line, width)


def turn(box: Piece | Table | Line, width: float) -> None:
    """Swap left and right of a box."""
    box.x0, box.x1 = width - box.x1, width - box.x0
