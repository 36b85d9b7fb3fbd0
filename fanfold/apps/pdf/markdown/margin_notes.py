"""Puts notes in the margin after the paragraph beside which they stand, and headings in the margin before it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fanfold.apps.pdf.markdown.lines import Box, rows
from fanfold.apps.pdf.markdown.pieces import Piece

# A margin is at most this share of the width of the text, and its notes have at most this share of the lines.
_NARROW = 0.5
_SPARSE = 0.45
_HEADED = 0.75
"""The same for headings in the margin."""
_MOST_NOTES = 30
# In multiples of the type size: lines of one note are closer than this; first lines are indented by more.
_TOGETHER = 0.9
_INDENT = 0.7
_STACKED = 2.5
"""The parts of a sidebar are no further apart than this."""
# A title is this much larger than the text, and has at most this many lines of the same size.
_TITLE = 1.5
_SAME_SIZE = 0.06
_MOST_TITLE_LINES = 3


def placed(left: list[Box], right: list[Box], size: float) -> Iterator[list[Box]]:
    """The two sides of a gutter in reading order: one after the other, or notes among the paragraphs of the text."""
    for notes, text in ((left, right), (right, left)):
        groups = _groups(notes, text, size)
        if groups and not _is_sidebar(groups, text, size):
            yield from _among(groups, text, size)
            return
    headings = _side_headings(left, right, size)
    if headings:
        yield from _before(headings, right)
        return
    title = _title_beside(left, right, size)
    if title:
        known = set(map(id, title))
        yield title
        right = [box for box in right if id(box) not in known]
    yield left
    yield right


def are_notes(left: list[Box], right: list[Box], size: float) -> bool:
    """Whether one side of a gutter is a margin with notes or headings."""
    return bool(_groups(left, right, size) or _groups(right, left, size) or _side_headings(left, right, size))


def _title_beside(left: list[Box], right: list[Box], size: float) -> list[Box]:
    """The title of the page at the top of its text, if a narrow sidebar stands to the left of both."""
    if not right or _width(left) > _NARROW * _width(right):
        return []
    lines = list(rows(right))
    sizes = [max((box.size for box in row if isinstance(box, Piece)), default=0.0) for row in lines]
    largest = max(sizes)
    is_large = [found > (1 - _SAME_SIZE) * largest for found in sizes]
    count = is_large.index(False) if False in is_large else len(is_large)
    is_title = largest >= _TITLE * size and 0 < count <= _MOST_TITLE_LINES and count == sum(is_large)
    return [box for row in lines[:count] for box in row] if is_title and count < len(lines) else []


def _width(boxes: list[Box]) -> float:
    return max(box.x1 for box in boxes) - min(box.x0 for box in boxes)


def _is_sidebar(groups: list[list[Box]], text: list[Box], size: float) -> bool:
    """Whether notes follow each other as the parts of one text, and do not stand where paragraphs begin."""
    gaps = [min(box.y0 for box in below) - max(box.y1 for box in above) for above, below in pairwise(groups)]
    if max(gaps) > _STACKED * size:
        return False
    found = list(rows(text))
    starts = [found[at] for at in (0, *_paragraph_ends(found, size))]
    return 2 * sum(_is_level(group, starts, size) for group in groups) < len(groups)


def _side_headings(notes: list[Box], text: list[Box], size: float) -> list[list[Box]]:
    """Headings in the left margin, each with its lines: all are level with the first line of a paragraph; none otherwise."""
    groups = _groups(notes, text, size, smaller=False)
    found = list(rows(text)) if groups else []
    starts = [found[at] for at in (0, *_paragraph_ends(found, size))] if found else []
    return groups if groups and all(_is_level(group, starts, size) for group in groups) else []


def _is_level(group: list[Box], starts: list[list[Box]], size: float) -> bool:
    top = min(box.y0 for box in group)
    return any(abs(min(box.y0 for box in row) - top) < 0.4 * size for row in starts)


def _before(groups: list[list[Box]], text: list[Box]) -> Iterator[list[Box]]:
    """Each heading, followed by the text down to the next one."""
    tops = [min(box.y0 for box in group) - 1 for group in groups]
    middles = [(box, (box.y0 + box.y1) / 2) for box in text]
    above = [box for box, middle in middles if middle < tops[0]]
    if above:
        yield above
    for group, top, end in zip(groups, tops, [*tops[1:], float("inf")], strict=True):
        yield group
        yield [box for box, middle in middles if top <= middle < end]


def _groups(notes: list[Box], text: list[Box], size: float, *, smaller: bool = True) -> list[list[Box]]:
    """The notes, each with its lines; none if this is a column and not a margin."""
    if not notes or not text or not all(isinstance(box, Piece) for box in notes):
        return []
    width = max(box.x1 for box in notes) - min(box.x0 for box in notes)
    lines = list(rows(notes))
    is_margin = width <= _NARROW * (max(box.x1 for box in text) - min(box.x0 for box in text))
    is_small = max(box.size for box in notes if isinstance(box, Piece)) < 0.95 * size
    if (
        not is_margin
        or (smaller and not is_small)
        or len(lines) > (_SPARSE if smaller else _HEADED) * len(list(rows(text)))
    ):
        return []
    groups: list[list[Box]] = []
    bottom = float("-inf")
    for line in lines:
        if line[0].y0 - bottom > _TOGETHER * size:
            groups.append([])
        groups[-1].extend(line)
        bottom = max(box.y1 for box in line)
    return groups if 1 < len(groups) <= _MOST_NOTES else []


def _among(groups: list[list[Box]], text: list[Box], size: float) -> Iterator[list[Box]]:
    found = list(rows(text))
    ends = _paragraph_ends(found, size)
    start = 0
    for group in groups:
        top = min(box.y0 for box in group)
        # A note stands beside the first line of its paragraph, so this paragraph ends below the top of the note.
        end = next((at for at in ends if at > start and found[at - 1][0].y1 > top), len(found))
        if end > start:
            yield [box for row in found[start:end] for box in row]
            start = end
        yield group
    if start < len(found):
        yield [box for row in found[start:] for box in row]


def _paragraph_ends(found: list[list[Box]], size: float) -> list[int]:
    """Where a new paragraph begins: at an indent, or below more white space than usual."""
    left = min(box.x0 for row in found for box in row)
    gaps = [below[0].y0 - above[0].y1 for above, below in pairwise(found)]
    usual = sorted(gaps)[len(gaps) // 2] if gaps else 0.0
    return [
        at + 1
        for at, (gap, row) in enumerate(zip(gaps, found[1:], strict=True))
        if gap > usual + 0.4 * size or (row[0].x0 > left + _INDENT * size and found[at][0].x0 <= left + _INDENT * size)
    ]
