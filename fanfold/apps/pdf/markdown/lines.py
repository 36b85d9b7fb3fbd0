"""Builds lines from pieces of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from fanfold.apps.pdf.markdown import cleaning, directions
from fanfold.apps.pdf.markdown.pieces import Piece, Table

Box = Piece | Table


@dataclass(slots=True)
class Line:
    """One line of a column, or a table in it (then ``table`` is set and there is no text)."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    bold: bool
    mono: bool
    pieces: list[Piece]
    table: Table | None = None
    number: str = ""
    """Number of a line of code, which belongs to the page and not to the code."""
    formula: str = ""
    """Displayed formulas as Markdown, if the line is one."""
    is_unread: bool = False
    """Whether the line is part of a displayed formula that stays text."""


def rows(boxes: Iterable[Box]) -> Iterable[list[Box]]:
    """Rows of boxes side by side, from top to bottom; superscripts and subscripts belong to their line."""
    row: list[Box] = []
    top = bottom = 0.0
    # This runs for every box of a page a dozen times, so it compares instead of calling min and max.
    for box in sorted(boxes, key=_middle):
        y0, y1 = box.y0, box.y1
        if row:
            overlap = (y1 if y1 < bottom else bottom) - (y0 if y0 > top else top)
            height, tall = y1 - y0, bottom - top
            if overlap > 0.5 * (height if height < tall else tall):
                row.append(box)
                if height > tall:
                    top, bottom = y0, y1
                continue
            yield row
        row, top, bottom = [box], y0, y1
    if row:
        yield row


def _middle(box: Box) -> float:
    return box.y0 + box.y1


def _left(piece: Piece) -> float:
    return piece.x0


def lines(boxes: Sequence[Box], *, is_mirrored: bool = False) -> list[Line]:
    """The lines of one column, from top to bottom; ``is_mirrored`` if left and right of the page were swapped."""
    found: list[Line] = []
    # A table is much taller than the lines that may stand beside it, and would make one row of them.
    tables = [box for box in boxes if isinstance(box, Table)]
    for row in rows([box for box in boxes if isinstance(box, Piece)] if tables else boxes):
        pieces = cast("list[Piece]", row)
        if len(row) > 1:
            pieces.sort(key=_left, reverse=is_mirrored)
            pieces = directions.in_reading_order(pieces, boxes)
        found.append(_line(pieces))
    for box in sorted(tables, key=lambda box: box.y0):
        line = Line("", box.x0, box.y0, box.x1, box.y1, 0.0, False, False, [], box)
        middle = box.y0 + box.y1
        at = next((at for at, other in enumerate(found) if other.y0 + other.y1 > middle), len(found))
        found.insert(at, line)
    return found


def _line(pieces: list[Piece]) -> Line:
    first = pieces[0]
    if len(pieces) == 1:
        text = first.text = cleaning.cleaned(first.text)
        return Line(text, first.x0, first.y0, first.x1, first.y1, first.size, first.bold, first.mono, pieces)
    main = max(pieces, key=lambda piece: len(piece.text))
    if main.mono and first.text.isdigit() and first.size < 0.75 * main.size:
        line = _line(pieces[1:])
        line.number = first.text
        return line
    same = [piece for piece in pieces if piece.size > 0.8 * main.size]
    return Line(
        _text(pieces),
        min([piece.x0 for piece in pieces]),
        min([piece.y0 for piece in same]),
        max([piece.x1 for piece in pieces]),
        max([piece.y1 for piece in same]),
        main.size,
        all(piece.bold for piece in pieces),
        all(piece.mono for piece in same),
        pieces,
    )


def _text(pieces: list[Piece]) -> str:
    text = ""
    left = edge = 0.0
    for piece in pieces:
        piece.text = cleaning.cleaned(piece.text)
        gap = max(piece.x0 - edge, left - piece.x1)
        if text and piece.text and _apart(text[-1], piece.text[0], gap, piece.size):
            text += " "
        text += piece.text
        left, edge = piece.x0, piece.x1
    return text


def _apart(before: str, after: str, gap: float, size: float) -> bool:
    if cleaning.is_cjk(before) and cleaning.is_cjk(after):
        return gap > 0.8 * size
    return gap > 0.12 * size
