"""Finds the reading order of a page: columns by the white space between them.

A gutter is a strip of the page that few boxes cross. The boxes that cross it (headlines, figures, tables) divide the page
into zones; in each zone the left side is read before the right one, and each side may have gutters of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import median

from fanfold.apps.pdf.markdown import margin_notes, page_heads
from fanfold.apps.pdf.markdown.lines import Box, Line, lines
from fanfold.apps.pdf.markdown.pieces import Piece
from fanfold.apps.pdf.markdown.zones import COLUMN_WIDTH, Zone, judged

__all__ = ["Box", "Line", "columns", "lines"]

Interval = tuple[float, float]

# Minimum gutter width in multiples of the type size; the spaces in a justified line are narrower.
_GUTTER = 0.8
_WORDS_APART = 0.7
_MARKER = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]|[•◦▪‣●○■□–]")
_MARKER_APART = 3.0
_HEADLINE = 1.3
_HEADLINE_WORDS_APART = 1.8
# A page with more large pieces than this is a poster or a drawing.
_MOST_INITIALS = 20
# Shares of the height that boxes across a gutter may take; gutters that fewer boxes cross are tried first.
_CROSSED = (0.0, 0.04, 0.1, 0.2, 0.35, 0.5)
_STRIPS = 480
_DEEPEST = 12
# In multiples of the type size: boxes across the gutter this close belong together, and white space that ends both columns.
_TOGETHER = 0.35
_END = 2.0
_EMPTY = 4.0
# In multiples of the type size: how much more white space is below the last line of a title than above it.
_APART = 0.25


def columns(
    boxes: Sequence[Box], *, is_mirrored: bool = False, rules: Sequence[tuple[float, float, float]] = ()
) -> list[list[Line]]:
    """The lines of a page, column by column in reading order.

    ``is_mirrored`` tells that left and right of the page were swapped; ``rules`` are its level rules.
    """
    if not boxes:
        return []
    size = median([box.size for box in boxes if isinstance(box, Piece)] or [10.0])
    _lower_initials(boxes, size)
    fused, members = _fused(boxes, size)
    parts = _parts(fused, size)
    head = page_heads.above_rule(fused, rules) if len(parts) > 1 else []
    if head:
        known = set(map(id, head))
        parts = [*page_heads.side_by_side(head, size), *_parts([box for box in fused if id(box) not in known], size)]
    whole = ([member for box in part for member in members.get(id(box), (box,))] for part in parts)
    return [lines(part, is_mirrored=is_mirrored) for part in whole]


def _fused(boxes: Sequence[Box], usual: float) -> tuple[list[Box], dict[int, list[Box]]]:
    """The boxes with pieces of one line joined, so that no gutter runs between the words of a title; and their members."""
    found: list[Box] = []
    members: dict[int, list[Box]] = {}
    for box in sorted(boxes, key=lambda box: (round(box.y0 + box.y1), box.x0)):
        before = found[-1] if found else None
        if (
            not isinstance(box, Piece)
            or not isinstance(before, Piece)
            or not (_is_next(before, box, usual) or _is_entry(before, box, boxes))
        ):
            found.append(box)
            continue
        edges = (min(before.y0, box.y0), max(before.x1, box.x1), max(before.y1, box.y1))
        joined = Piece(f"{before.text} {box.text}", before.x0, *edges, before.size, before.bold, before.mono)
        members[id(joined)] = [*members.pop(id(before), [before]), box]
        found[-1] = joined
    return found, members


def _is_next(before: Piece, piece: Piece, usual: float) -> bool:
    size = min(before.size, piece.size)
    # The words of a justified headline are further apart; one that continues in lower case is the same.
    is_headline = size > _HEADLINE * usual and piece.text[:1].islower()
    apart = _HEADLINE_WORDS_APART if is_headline else _WORDS_APART
    return (
        abs(before.y0 + before.y1 - piece.y0 - piece.y1) < 0.6 * size
        and -0.5 * size < piece.x0 - before.x1 < apart * size
    )


def _is_entry(marker: Piece, text: Piece, boxes: Sequence[Box]) -> bool:
    """Whether the marker of a list stands before its text, and is not the number of a formula at the end of a column."""
    size = min(marker.size, text.size)
    gap = text.x0 - marker.x1
    is_level = abs(marker.y0 + marker.y1 - text.y0 - text.y1) < 0.6 * size
    if not is_level or not -0.5 * size < gap < _MARKER_APART * size or not _MARKER.fullmatch(marker.text):
        return False
    reaching = sum(box.x0 < marker.x0 - 0.5 * size and marker.x0 < box.x1 < text.x0 for box in boxes)
    return reaching < 2


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
            for side in margin_notes.placed(zone.left, zone.right, size):
                parts.extend(_parts(side, size, depth + 1))
        else:
            open_part.extend(zone.boxes)
    if open_part:
        parts.extend(_parts(open_part, size, depth + 1))
    return parts


def _best_zones(boxes: list[Box], size: float) -> list[tuple[Zone, bool]] | None:
    """The zones at the gutter with the most lines beside it, and whether each is divided; None if there is no gutter."""
    best: list[tuple[Zone, bool]] | None = None
    most = 0
    tried: list[Interval] = []
    for gutter in _gutters(boxes, size):
        if any(start <= gutter[0] and gutter[1] <= end for start, end in tried):
            continue
        tried.append(gutter)
        zones = judged(_zones(boxes, gutter, size), size)
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
    if right - left < 2 * COLUMN_WIDTH * size or height <= 0:
        return
    step = (right - left) / _STRIPS
    changes = [0.0] * (_STRIPS + 1)
    for box in boxes:
        x0, x1 = _text_edges(box)
        changes[int((x0 - left) / step)] += box.y1 - box.y0
        changes[min(int((x1 - left) / step) + 1, _STRIPS)] -= box.y1 - box.y0
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


def _text_edges(box: Box) -> Interval:
    """Left and right edge of the text; the rules of a table may reach into the gutter."""
    if isinstance(box, Piece) or not box.pieces:
        return box.x0, box.x1
    return max(box.x0, min(piece.x0 for piece in box.pieces)), min(box.x1, max(piece.x1 for piece in box.pieces))


def _zones(boxes: list[Box], gutter: Interval, size: float) -> list[Zone]:
    """The zones of a page, from top to bottom."""
    start, end = gutter
    edges = ((box, *_text_edges(box)) for box in boxes)
    across = _with_last_lines([box for box, left, right in edges if left < start and right > end], boxes)
    across.extend(_headlines(boxes, across, gutter, size))
    bands: list[list[float]] = []
    for box in sorted(across, key=lambda box: box.y0):
        top, bottom = box.y0 - _TOGETHER * size, box.y1 + _TOGETHER * size
        if bands and top <= bands[-1][1]:
            bands[-1][1] = max(bands[-1][1], bottom)
        else:
            bands.append([top, bottom])
    zones = [Zone([], [], []) for _ in range(2 * len(bands) + 1)]
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
    return [part for zone in zones if zone.boxes for piece in _cut(zone, size) for part in _ended(piece, size)]


def _cut(zone: Zone, size: float) -> Iterable[Zone]:
    """Cut a zone where both sides are empty: a figure lies across them, and what is above it is read first."""
    if not zone.left or not zone.right or margin_notes.are_notes(zone.left, zone.right, size):
        yield zone
        return
    left = set(map(id, zone.left))
    parts: tuple[list[Box], list[Box]] = ([], [])
    bottom = float("-inf")
    for box in sorted((*zone.left, *zone.right), key=lambda box: box.y0):
        if any(parts) and box.y0 - bottom > _EMPTY * size:
            yield Zone(*parts, [])
            parts = ([], [])
        parts[id(box) not in left].append(box)
        bottom = max(bottom, box.y1)
    yield Zone(*parts, [])


def _headlines(boxes: list[Box], across: list[Box], gutter: Interval, size: float) -> list[Box]:
    """Short headlines of all columns: in large type at the left edge, with nothing beside them, and level columns below."""
    middle = sum(gutter) / 2
    known = set(map(id, across))
    left = [box for box in boxes if box.x0 + box.x1 < 2 * middle and id(box) not in known]
    right = [box for box in boxes if box.x0 + box.x1 >= 2 * middle and id(box) not in known]
    large = [box for box in left if isinstance(box, Piece) and box.size >= _HEADLINE * size]
    edge = min((box.x0 for box in left), default=0.0)
    texts = [box for box in left if box not in large]
    found: list[Box] = []
    for box in large:
        below = [
            min((other.y0 for other in side if other.y0 > box.y1 - 0.2 * size), default=None) for side in (texts, right)
        ]
        is_beside = any(other.y0 < box.y1 + 0.3 * size and other.y1 > box.y0 - 0.3 * size for other in right)
        is_between = any(other.y1 < box.y0 for other in right)
        if box.x0 - edge > size or is_beside or not is_between or below[0] is None or below[1] is None:
            continue
        if abs(below[0] - below[1]) < 0.5 * size:
            found.append(box)
    return found


def _with_last_lines(across: list[Box], boxes: list[Box]) -> list[Box]:
    """Add the last lines of titles and paragraphs across a gutter, which may be too short to cross it themselves."""
    found = list(across)
    known = set(map(id, across))
    for above in (box for box in across if isinstance(box, Piece)):
        below = [
            box for box in boxes if box.y0 > above.y0 + 0.5 * above.size and box.x0 < above.x1 and above.x0 < box.x1
        ]
        last = min(below, key=lambda box: box.y0, default=None)
        if not isinstance(last, Piece) or id(last) in known or not _ends(above, last):
            continue
        level = [box for box in boxes if abs(box.y0 - last.y0) < 0.5 * last.size and id(box) != id(last)]
        after = min((box.y0 for box in below if box.y0 > last.y0 + 0.5 * last.size), default=float("inf"))
        if not level and after - last.y1 > last.y0 - above.y1 + _APART * above.size:
            known.add(id(last))
            found.append(last)
    return found


def _ends(above: Piece, last: Piece) -> bool:
    """Whether a line may be the last one of the title or paragraph above."""
    is_alike = abs(above.size - last.size) < 0.05 * above.size and above.bold == last.bold
    middle = abs(above.x0 + above.x1 - last.x0 - last.x1) < above.size
    return is_alike and last.y0 - above.y1 < 0.8 * above.size and (middle or abs(above.x0 - last.x0) < above.size)


def _ended(zone: Zone, size: float) -> list[Zone]:
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
    kept = Zone(left, right, [])
    return [kept, Zone([], [], below)]
