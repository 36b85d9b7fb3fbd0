"""Finds the reading order of a page: columns by the white space between them, then lines from pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from fanfold.apps.pdf.markdown import cleaning
from fanfold.apps.pdf.markdown.pieces import Piece, Table

Box = Piece | Table
Interval = tuple[float, float]

# Minimum gutter width in multiples of the type size; the spaces in a justified line are narrower.
_GUTTER = 1.0
_COLUMN_WIDTH = 8.0
_COLUMN_ROWS = 3
# Body text fills at least this share of its column; table and form entries do not.
_FILLED = 0.55
_SENTENCE = 24
# A page with more large pieces than this is a poster or a drawing.
_MOST_INITIALS = 20


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


def columns(boxes: Sequence[Box]) -> list[list[Line]]:
    """The lines of a page, column by column in reading order."""
    if not boxes:
        return []
    size = median([box.size for box in boxes if isinstance(box, Piece)] or [10.0])
    _lower_initials(boxes, size)
    return [lines(part) for part in _parts(list(boxes), size)]


def _lower_initials(boxes: Sequence[Box], size: float) -> None:
    """Treat a drop cap as part of its first line, so that it does not merge the lines it spans."""
    pieces = [box for box in boxes if isinstance(box, Piece)]
    initials = [piece for piece in pieces if piece.size >= 1.8 * size and len(piece.text) <= 12]
    for large in initials if len(initials) <= _MOST_INITIALS else ():
        beside = [
            piece
            for piece in pieces
            if piece.size < 1.4 * size
            and large.y0 - size < piece.y0 < large.y1
            and large.x0 + 0.3 * size < piece.x0 < large.x1 + 2 * size
        ]
        first = next((piece for piece in beside if abs(piece.y0 - large.y0) < 0.5 * size), None)
        if first is None:
            continue
        large.y0, large.y1, large.size = first.y0, first.y1, first.size
        for piece in beside:
            # The lines it indents start at its left edge: they are not separate paragraphs.
            if piece.y0 > first.y1 - 0.5 * size:
                piece.x0 = large.x0


def _parts(boxes: list[Box], size: float) -> list[list[Box]]:
    """Split into single-column parts in reading order."""
    parts: list[list[Box]] = []
    open_part: list[Box] = []
    for band, gutter in _bands(_strips(boxes), size):
        sides = _sides(band, gutter, size) if gutter else None
        if sides is None:
            open_part.extend(band)
            continue
        if open_part:
            parts.append(open_part)
            open_part = []
        parts.extend(_parts(sides[0], size))
        parts.extend(_parts(sides[1], size))
    if open_part:
        parts.append(open_part)
    return parts


def _strips(boxes: list[Box]) -> list[list[Box]]:
    """Groups of boxes separated by white space, from top to bottom."""
    strips: list[list[Box]] = []
    bottom = float("-inf")
    for box in sorted(boxes, key=lambda box: box.y0):
        # Descenders may touch the next line's ascenders, so up to a fifth of overlap counts as separate.
        if box.y0 + 0.2 * (box.y1 - box.y0) >= bottom:
            strips.append([])
            bottom = box.y1
        strips[-1].append(box)
        bottom = max(bottom, box.y1)
    return strips


def _bands(strips: list[list[Box]], size: float) -> Iterable[tuple[list[Box], Interval | None]]:
    """Consecutive strips that share a gutter, with that gutter, or None if there is none."""
    left = min(box.x0 for strip in strips for box in strip)
    right = max(box.x1 for strip in strips for box in strip)
    band: list[Box] = []
    shared: list[Interval] = []
    bottom = 0.0
    for strip in strips:
        free = _free(strip, left, right, size)
        common = _intersect(shared, free, size) if band else free
        # Below the white space that ends both columns, a line on one side is a heading and not the end of the left column.
        over = min(box.y0 for box in strip) - bottom > 2 * size and not _inner(free, left, right)
        bottom = max(box.y1 for box in strip)
        loses = (_inner(shared, left, right) or _inner(free, left, right)) and not _inner(common, left, right)
        if band and (over or loses or not common):
            yield band, _widest(_inner(shared, left, right))
            band, common = [], free
        band.extend(strip)
        shared = common
    if band:
        yield band, _widest(_inner(shared, left, right))


def _free(strip: list[Box], left: float, right: float, size: float) -> list[Interval]:
    """Gaps between left and right where a strip has no ink."""
    free: list[Interval] = []
    edge = left
    for box in sorted(strip, key=lambda box: box.x0):
        if box.x0 - edge >= _GUTTER * size:
            free.append((edge, box.x0))
        edge = max(edge, box.x1)
    if right - edge >= _GUTTER * size:
        free.append((edge, right))
    return free


def _intersect(ours: list[Interval], theirs: list[Interval], size: float) -> list[Interval]:
    met = [(max(a, c), min(b, d)) for a, b in ours for c, d in theirs]
    return [(start, end) for start, end in met if end - start >= _GUTTER * size]


def _inner(free: list[Interval], left: float, right: float) -> list[Interval]:
    """Gaps that may be gutters, without the margins."""
    return [(start, end) for start, end in free if start > left and end < right]


def _widest(gutters: list[Interval]) -> Interval | None:
    return max(gutters, key=lambda gutter: gutter[1] - gutter[0], default=None)


def _sides(band: list[Box], gutter: Interval, size: float) -> tuple[list[Box], list[Box]] | None:
    """The two sides of a gutter if they are text columns and not a table, a form or a numbered list."""
    middle = sum(gutter) / 2
    left = [box for box in band if box.x0 < middle]
    right = [box for box in band if box.x0 >= middle]
    if _is_column(left, size) and _is_column(right, size) and not _is_grid(left, right):
        return left, right
    return None


def _is_grid(left: list[Box], right: list[Box]) -> bool:
    """Whether short entries are side by side, line by line: cells of a table without rules."""
    sides = [[row for row in _rows(side) if isinstance(row[0], Piece)] for side in (left, right)]
    if not all(sides):
        return False
    short = any(
        median(sum(len(box.text) for box in row if isinstance(box, Piece)) for row in side) < _SENTENCE
        for side in sides
    )
    middles = [row[0].y0 + row[0].y1 for row in sides[1]]
    # Cells of a row are level to within 1/20 of their height; lines of two columns rarely are.
    beside = sum(
        any(abs(row[0].y0 + row[0].y1 - middle) < 0.1 * (row[0].y1 - row[0].y0) for middle in middles)
        for row in sides[0]
    )
    return short and beside > 0.7 * min(map(len, sides))


def _is_column(boxes: list[Box], size: float) -> bool:
    if not boxes:
        return False
    width = max(box.x1 for box in boxes) - min(box.x0 for box in boxes)
    rows = list(_rows(boxes))
    if any(isinstance(box, Table) for box in boxes):
        return width >= _COLUMN_WIDTH * size
    if width < _COLUMN_WIDTH * size or len(rows) < _COLUMN_ROWS:
        return False
    inked = sum(max(box.x1 for box in row) - min(box.x0 for box in row) for row in rows)
    return inked >= _FILLED * width * len(rows)


def _rows(boxes: Iterable[Box]) -> Iterable[list[Box]]:
    """Rows of boxes side by side, from top to bottom; superscripts and subscripts belong to their line."""
    row: list[Box] = []
    top = bottom = 0.0
    for box in sorted(boxes, key=lambda box: box.y0 + box.y1):
        overlap = min(bottom, box.y1) - max(top, box.y0)
        if row and overlap > 0.5 * min(bottom - top, box.y1 - box.y0):
            row.append(box)
            if box.y1 - box.y0 > bottom - top:
                top, bottom = box.y0, box.y1
            continue
        if row:
            yield row
        row, top, bottom = [box], box.y0, box.y1
    if row:
        yield row


def lines(boxes: Sequence[Box]) -> list[Line]:
    """The lines of one column, from top to bottom."""
    found: list[Line] = []
    for row in _rows(boxes):
        pieces = sorted((box for box in row if isinstance(box, Piece)), key=lambda piece: piece.x0)
        if pieces:
            found.append(_line(pieces))
        found.extend(
            Line("", box.x0, box.y0, box.x1, box.y1, 0.0, False, False, [], box)
            for box in row
            if isinstance(box, Table)
        )
    return found


def _line(pieces: list[Piece]) -> Line:
    first = pieces[0]
    if len(pieces) == 1:
        text = cleaning.close_gaps(cleaning.characters(first.text))
        first.text = text
        return Line(text, first.x0, first.y0, first.x1, first.y1, first.size, first.bold, first.mono, pieces)
    main = max(pieces, key=lambda piece: len(piece.text))
    if main.mono and first.text.isdigit() and first.size < 0.75 * main.size:
        # The line number of a code listing belongs to the page, not to the code.
        return _line(pieces[1:])
    same = [piece for piece in pieces if piece.size > 0.8 * main.size]
    return Line(
        _text(pieces),
        first.x0,
        min(piece.y0 for piece in same),
        max(piece.x1 for piece in pieces),
        max(piece.y1 for piece in same),
        main.size,
        all(piece.bold for piece in pieces),
        all(piece.mono for piece in same),
        pieces,
    )


def _text(pieces: list[Piece]) -> str:
    text = ""
    edge = 0.0
    for piece in pieces:
        piece.text = cleaning.close_gaps(cleaning.characters(piece.text))
        gap = piece.x0 - edge
        if text and piece.text and _apart(text[-1], piece.text[0], gap, piece.size):
            text += " "
        text += piece.text
        edge = piece.x1
    return text


def _apart(before: str, after: str, gap: float, size: float) -> bool:
    if cleaning.is_cjk(before) and cleaning.is_cjk(after):
        return gap > 0.8 * size
    return gap > 0.12 * size
