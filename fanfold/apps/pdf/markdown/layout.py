"""Finds the reading order of a page: columns by the white space between them.

A gutter is a strip of the page that few boxes cross. The boxes that cross it (headlines, figures, tables) divide the page
into zones; in each zone the left side is read before the right one, and each side may have gutters of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from fanfold.apps.pdf.markdown.lines import Box, Line, lines, rows
from fanfold.apps.pdf.markdown.pieces import Piece, Table

__all__ = ["Box", "Line", "columns", "lines"]

Interval = tuple[float, float]

# Minimum gutter width in multiples of the type size; the spaces in a justified line are narrower.
_GUTTER = 0.9
_COLUMN_WIDTH = 8.0
_COLUMN_ROWS = 3
_WORDS_APART = 0.7
# Body text fills at least this share of its column; table and form entries do not.
_FILLED = 0.55
_SENTENCE = 24
_LEADERS = "...."
# A page with more large pieces than this is a poster or a drawing.
_MOST_INITIALS = 20
# Shares of the height that boxes across a gutter may take; gutters that fewer boxes cross are tried first.
_CROSSED = (0.0, 0.04, 0.1, 0.2, 0.35, 0.5)
_STRIPS = 240
_DEEPEST = 12
# In multiples of the type size: boxes across the gutter this close belong together, and white space that ends both columns.
_TOGETHER = 0.35
_END = 2.0


def columns(boxes: Sequence[Box]) -> list[list[Line]]:
    """The lines of a page, column by column in reading order."""
    if not boxes:
        return []
    size = median([box.size for box in boxes if isinstance(box, Piece)] or [10.0])
    _lower_initials(boxes, size)
    fused, members = _fused(boxes)
    parts = _parts(fused, size)
    return [lines([member for box in part for member in members.get(id(box), (box,))]) for part in parts]


def _fused(boxes: Sequence[Box]) -> tuple[list[Box], dict[int, list[Box]]]:
    """The boxes with pieces of one line joined, so that no gutter runs between the words of a title; and their members."""
    found: list[Box] = []
    members: dict[int, list[Box]] = {}
    for box in sorted(boxes, key=lambda box: (round(box.y0 + box.y1), box.x0)):
        before = found[-1] if found else None
        if not isinstance(box, Piece) or not isinstance(before, Piece) or not _is_next(before, box):
            found.append(box)
            continue
        edges = (min(before.y0, box.y0), max(before.x1, box.x1), max(before.y1, box.y1))
        joined = Piece(f"{before.text} {box.text}", before.x0, *edges, before.size, before.bold, before.mono)
        members[id(joined)] = [*members.pop(id(before), [before]), box]
        found[-1] = joined
    return found, members


def _is_next(before: Piece, piece: Piece) -> bool:
    size = min(before.size, piece.size)
    return (
        abs(before.y0 + before.y1 - piece.y0 - piece.y1) < 0.6 * size
        and -0.5 * size < piece.x0 - before.x1 < _WORDS_APART * size
    )


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


@dataclass(slots=True)
class _Zone:
    """A part of the page from top to bottom: two sides of a gutter, or boxes across it and what is beside them."""

    left: list[Box]
    right: list[Box]
    across: list[Box]

    @property
    def boxes(self) -> list[Box]:
        return [*self.left, *self.right, *self.across]


def _parts(boxes: list[Box], size: float, depth: int = 0) -> list[list[Box]]:
    """Split into single-column parts in reading order."""
    zones = _best_zones(boxes, size) if len(boxes) > 1 and depth < _DEEPEST else None
    if zones is None:
        return [boxes]
    parts: list[list[Box]] = []
    open_part: list[Box] = []
    for zone, divided in zones:
        if divided:
            if open_part:
                parts.extend(_parts(open_part, size, depth + 1))
                open_part = []
            parts.extend(_parts(zone.left, size, depth + 1))
            parts.extend(_parts(zone.right, size, depth + 1))
        else:
            open_part.extend(zone.boxes)
    if open_part:
        parts.extend(_parts(open_part, size, depth + 1))
    return parts


def _best_zones(boxes: list[Box], size: float) -> list[tuple[_Zone, bool]] | None:
    """The zones at the gutter with the most lines beside it, and whether each is divided; None if there is no gutter."""
    best: list[tuple[_Zone, bool]] | None = None
    most = 0
    tried: list[Interval] = []
    for gutter in _gutters(boxes, size):
        if any(start <= gutter[0] and gutter[1] <= end for start, end in tried):
            continue
        tried.append(gutter)
        zones = _judged(_zones(boxes, gutter, size), size)
        beside = sum(min(len(zone.left), len(zone.right)) for zone, divided in zones if divided)
        if beside > most:
            best, most = zones, beside
            if beside * 3 > len(boxes):
                break
    return best


def _gutters(boxes: list[Box], size: float) -> Iterable[Interval]:
    """Strips that few boxes cross, those with the fewest first."""
    left, right = min(box.x0 for box in boxes), max(box.x1 for box in boxes)
    height = max(box.y1 for box in boxes) - min(box.y0 for box in boxes)
    if right - left < 2 * _COLUMN_WIDTH * size or height <= 0:
        return
    step = (right - left) / _STRIPS
    changes = [0.0] * (_STRIPS + 1)
    for box in boxes:
        changes[int((box.x0 - left) / step)] += box.y1 - box.y0
        changes[min(int((box.x1 - left) / step) + 1, _STRIPS)] -= box.y1 - box.y0
    covered: list[float] = []
    total = 0.0
    for change in changes[:-1]:
        total += change
        covered.append(total)
    # Most pages have one column, which every strip inside crosses.
    fewest = min(covered[_STRIPS // 12 : -_STRIPS // 12])
    for share in (share for share in _CROSSED if share * height + 0.01 >= fewest):
        start: int | None = None
        for strip, crossed in enumerate(covered):
            if crossed <= share * height + 0.01:
                start = strip if start is None else start
            elif start is not None:
                if start > 0 and (strip - start) * step >= _GUTTER * size:
                    yield left + start * step, left + strip * step
                start = None


def _zones(boxes: list[Box], gutter: Interval, size: float) -> list[_Zone]:
    """The zones of a page, from top to bottom."""
    start, end = gutter
    across = [box for box in boxes if box.x0 < start and box.x1 > end]
    bands: list[list[float]] = []
    for box in sorted(across, key=lambda box: box.y0):
        top, bottom = box.y0 - _TOGETHER * size, box.y1 + _TOGETHER * size
        if bands and top <= bands[-1][1]:
            bands[-1][1] = max(bands[-1][1], bottom)
        else:
            bands.append([top, bottom])
    zones = [_Zone([], [], []) for _ in range(2 * len(bands) + 1)]
    crossing = set(map(id, across))
    for box in boxes:
        middle = (box.y0 + box.y1) / 2
        at = 2 * sum(band[1] < middle for band in bands)
        inside = at // 2 < len(bands) and bands[at // 2][0] <= middle
        zone = zones[at + 1 if inside else at]
        if id(box) in crossing or inside:
            zone.across.append(box)
        else:
            (zone.left if (box.x0 + box.x1) / 2 < (start + end) / 2 else zone.right).append(box)
    return [part for zone in zones if zone.boxes for part in _ended(zone, size)]


def _ended(zone: _Zone, size: float) -> list[_Zone]:
    """Cut off what is below the white space that ends both columns: on one side alone, it is a heading of what follows."""
    if not zone.left or not zone.right:
        return [zone]
    end = min(max(box.y1 for box in side) for side in (zone.left, zone.right))
    longer = zone.left if max(box.y1 for box in zone.left) > end else zone.right
    below = sorted((box for box in longer if box.y0 > end - 0.2 * size), key=lambda box: box.y0)
    above = max((box.y1 for box in longer if box.y0 <= end - 0.2 * size), default=end)
    if not below or below[0].y0 - max(end, above) <= _END * size:
        return [zone]
    cut = set(map(id, below))
    left, right = ([box for box in side if id(box) not in cut] for side in (zone.left, zone.right))
    kept = _Zone(left, right, [])
    return [kept, _Zone([], [], below)]


def _judged(zones: list[_Zone], size: float) -> list[tuple[_Zone, bool]]:
    """Whether each zone is two columns: clearly, or less clearly below or above one that is."""
    clear = [
        bool(zone.left and zone.right)
        and _is_column(zone.left, size)
        and _is_column(zone.right, size)
        and not _is_grid(zone.left, zone.right)
        for zone in zones
    ]
    if not any(clear):
        return [(zone, False) for zone in zones]
    widths = [
        max(max(box.x1 for box in side) - min(box.x0 for box in side) for side in sides)
        for sides in zip(
            *((zone.left, zone.right) for zone, is_clear in zip(zones, clear, strict=True) if is_clear), strict=True
        )
    ]
    return [(zone, is_clear or _continues(zone, widths)) for zone, is_clear in zip(zones, clear, strict=True)]


def _continues(zone: _Zone, widths: list[float]) -> bool:
    """Whether a few lines beside each other are the rest of columns of these widths."""
    if zone.across or not zone.left or not zone.right or _is_grid(zone.left, zone.right):
        return False
    texts = [[box.text for box in side if isinstance(box, Piece)] for side in (zone.left, zone.right)]
    if any(max(map(len, side), default=0) < _SENTENCE for side in texts):
        return False
    return all(
        max(max(box.x1 for box in row) - min(box.x0 for box in row) for row in rows(side)) >= _FILLED * width
        for side, width in zip((zone.left, zone.right), widths, strict=True)
    )


def _is_grid(left: list[Box], right: list[Box]) -> bool:
    """Whether short entries are side by side, line by line: cells of a table without rules."""
    sides = [[row for row in rows(side) if isinstance(row[0], Piece)] for side in (left, right)]
    if not all(sides):
        return False
    if any(
        2 * sum(_LEADERS in box.text for row in side for box in row if isinstance(box, Piece)) > len(side)
        for side in sides
    ):
        return True
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
    found = list(rows(boxes))
    if any(isinstance(box, Table) for box in boxes):
        return width >= _COLUMN_WIDTH * size
    if width < _COLUMN_WIDTH * size or len(found) < _COLUMN_ROWS:
        return False
    inked = sum(max(box.x1 for box in row) - min(box.x0 for box in row) for row in found)
    return inked >= _FILLED * width * len(found)
