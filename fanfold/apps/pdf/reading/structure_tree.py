"""Reads which text of a tagged PDF is a heading, according to the document's own structure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_HEADING = re.compile(r"H([1-6])?|Title")
_DEEPEST = 60


def heading_levels(tree: Any) -> dict[int, int]:
    """Levels of the headings of a page, by the number of their marked content."""
    roots = tree.roots if tree is not None else ()
    return {number: level for root in roots for number, level in _levels(root, 0, 0)} if roots else {}


def _levels(element: Any, level: int, depth: int) -> Iterator[tuple[int, int]]:
    match = _HEADING.fullmatch(element.element_type or "")
    if match is not None:
        level = int(match[1] or 1)
    if level:
        yield from ((number, level) for number in element.marked_content_ids)
    for child in element.children if depth < _DEEPEST else ():
        yield from _levels(child, level, depth + 1)
