"""The zones of a page above, between and below what lies across its columns, and whether each has two columns."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from statistics import median

from fanfold.apps.pdf.markdown.lines import Box, rows
from fanfold.apps.pdf.markdown.pieces import Piece, Table

COLUMN_WIDTH = 8.0
"""Least width of a column in multiples of the type size."""
_COLUMN_ROWS = 3
# Body text fills at least this share of its column; table and form entries do not.
_FILLED = 0.55
_SENTENCE = 24
_LEADERS = "...."
# Share of the lines of running text that continue in the middle of a sentence, in lower case.
_GOES_ON = 0.4
_SHORTEST_NOTE = 7
# Words beside at least this share of the lines of a text are part of them.
_WIDER = 1.2
_ON_EVERY_LINE = 0.7
_FEW_WORDS = 2
_MOST_WORDS = 0.6
_END_OF_SENTENCE = re.compile(r"[.!?:;]$")


@dataclass(slots=True)
class Zone:
    """A part of the page from top to bottom: two sides of a gutter, or boxes across it and what is beside them."""

    left: list[Box]
    right: list[Box]
    across: list[Box]

    @property
    def boxes(self) -> list[Box]:
        return [*self.left, *self.right, *self.across]


def judged(zones: list[Zone], size: float) -> list[tuple[Zone, bool]]:
    """Whether each zone is two columns: clearly, or less clearly below or above one that is."""
    clear = [
        bool(zone.left and zone.right)
        and (
            (_is_column(zone.left, size) and _is_column(zone.right, size) and not _is_grid(zone.left, zone.right))
            or is_aside(zone.left, zone.right, size)
            or is_aside(zone.right, zone.left, size)
        )
        for zone in zones
    ]
    if not any(clear):
        return [(zone, False) for zone in zones]
    widths = [
        max(
            min(max(box.x1 for box in side) - min(box.x0 for box in side), _WIDER * _usual_width(side))
            for side in sides
        )
        for sides in zip(
            *((zone.left, zone.right) for zone, is_clear in zip(zones, clear, strict=True) if is_clear), strict=True
        )
    ]
    return [(zone, is_clear or _continues(zone, widths)) for zone, is_clear in zip(zones, clear, strict=True)]


def _usual_width(side: list[Box]) -> float:
    """The width of most lines of a side, which may have columns itself."""
    return median(box.x1 - box.x0 for box in side)


def _continues(zone: Zone, widths: list[float]) -> bool:
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
    if any(map(is_running, (left, right))):
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
    found = list(rows(boxes))
    if any(isinstance(box, Table) for box in boxes):
        return width >= COLUMN_WIDTH * size
    if width < COLUMN_WIDTH * size or len(found) < _COLUMN_ROWS:
        return False
    inked = sum(max(box.x1 for box in row) - min(box.x0 for box in row) for row in found)
    return inked >= _FILLED * width * len(found)


def is_running(boxes: list[Box]) -> bool:
    """Whether lines are running text: many continue in the middle of a sentence."""
    texts = [" ".join(box.text for box in row if isinstance(box, Piece)).strip() for row in rows(boxes)]
    pairs = [(above, below) for above, below in itertools.pairwise(texts) if above and below]
    going_on = sum(below[0].islower() and not _END_OF_SENTENCE.search(above) for above, below in pairs)
    return len(pairs) > _COLUMN_ROWS and going_on >= _GOES_ON * len(pairs) and median(map(len, texts)) > _SENTENCE


def is_aside(notes: list[Box], text: list[Box], size: float) -> bool:
    """Whether a few short lines stand beside running text and not, as terms do, each beside the begin of a sentence."""
    if not notes or not is_running(text) or not _is_column(text, size):
        return False
    found = [row for row in rows(notes) if isinstance(row[0], Piece)]
    is_small = all(isinstance(box, Piece) and box.size < 0.95 * size for box in notes)
    # Shorter ones are bullets and numbers of a list, or of its lines.
    longest = max((len(box.text) for row in found for box in row if isinstance(box, Piece)), default=0)
    if len(found) < (1 if is_small else _COLUMN_ROWS) or longest < _SHORTEST_NOTE:
        return False
    lines = list(rows(text))
    if not is_small and _are_cut_off(found, lines, size):
        return False
    begins = [lines[0], *(below for above, below in itertools.pairwise(lines) if not _is_inside(above, below))]
    at_begin = sum(any(abs(row[0].y0 - line[0].y0) < 0.4 * size for line in begins) for row in found)
    return is_small or 2 * at_begin <= len(found)


def _are_cut_off(notes: list[list[Box]], lines: list[list[Box]], size: float) -> bool:
    """Whether nearly every line of a text has a word level with it, in the middle of a sentence: cut off its lines."""
    level = sum(
        any(abs(row[0].y0 + row[0].y1 - line[0].y0 - line[0].y1) < 0.2 * size for row in notes) for line in lines
    )
    texts = [" ".join(box.text for box in row if isinstance(box, Piece)) for row in notes]
    words = sum(text[:1].islower() and len(text.split()) <= _FEW_WORDS for text in texts)
    return level >= _ON_EVERY_LINE * len(lines) and words >= _MOST_WORDS * len(notes)


def _is_inside(above: list[Box], below: list[Box]) -> bool:
    """Whether a sentence continues from one line to the next."""
    texts = [" ".join(box.text for box in row if isinstance(box, Piece)).strip() for row in (above, below)]
    return bool(all(texts) and (texts[1][0].islower() or not _END_OF_SENTENCE.search(texts[0])))
