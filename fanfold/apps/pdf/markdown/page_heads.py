"""Finds the head of a page above a rule across it: it is read before the columns below, whatever is beside it."""

from __future__ import annotations

from collections.abc import Sequence

from fanfold.apps.pdf.markdown.lines import Box, rows
from fanfold.apps.pdf.markdown.pieces import Table

# A rule across the page has this share of its width, and ends the head if it is in this share of its height; forms have more
# such rules, and a head has few lines.
_ACROSS = 0.85
_HEAD = 0.3
_MOST_RULES = 6
_MOST_HEAD_ROWS = 8
# In multiples of the type size: white space between the parts of a head.
_WIDE = 3.0


def above_rule(boxes: Sequence[Box], rules: Sequence[tuple[float, float, float]]) -> list[Box]:
    """What is above a rule across the top of the page, such as a title beside the name of a journal."""
    left, right = min(box.x0 for box in boxes), max(box.x1 for box in boxes)
    top, bottom = min(box.y0 for box in boxes), max(box.y1 for box in boxes)
    across = [y for y, start, end in rules if end - start > _ACROSS * (right - left)]
    upper = [y for y in across if y < top + _HEAD * (bottom - top)]
    if not upper or len(across) > _MOST_RULES:
        return []
    head = [box for box in boxes if box.y0 + box.y1 < 2 * max(upper)]
    if (
        any(isinstance(box, Table) for box in head)
        or len(list(rows(head))) > _MOST_HEAD_ROWS
        or len(head) == len(boxes)
    ):
        return []
    return head


def side_by_side(head: Sequence[Box], size: float) -> list[list[Box]]:
    """The parts of a head from left to right, divided by wide white space; one if it is a single line."""
    if len(list(rows(head))) == 1:
        return [list(head)]
    found: list[list[Box]] = []
    edge = float("-inf")
    for box in sorted(head, key=lambda box: box.x0):
        if box.x0 - edge > _WIDE * size:
            found.append([])
        found[-1].append(box)
        edge = max(edge, box.x1)
    return found
