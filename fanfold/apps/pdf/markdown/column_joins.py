"""Joins a paragraph that ends one column in the middle of a sentence with its rest at the top of the next column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fanfold.apps.pdf.heads.heading_words import CAPTION
from fanfold.apps.pdf.markdown.blocks import Block

_ENDS_SENTENCE = re.compile(r"[.!?:;。！？：；…][\"'”’)\]」』）*]*\d{0,3}$")
_SAME_SIZE = 0.05
# Columns of one text are about as wide as each other.
_NARROWER = 0.7
_LEAST_WIDTH = 10.0
"""In multiples of the type size."""


def joined(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks of a page, with such paragraphs as one."""
    held: Block | None = None
    for block in blocks:
        if held is not None and _goes_on(held, block):
            start = len(held.lines)
            held.lines = [*held.lines, *block.lines]
            held.breaks = held.breaks | {start + at for at in block.breaks}
            continue
        if held is not None:
            yield held
        held = block
    if held is not None:
        yield held


def _goes_on(above: Block, below: Block) -> bool:
    if above.kind not in ("paragraph", "item") or below.kind != "paragraph" or not above.lines or not below.lines:
        return False
    last, first = above.lines[-1], below.lines[0]
    if first.y1 > last.y0 or not first.text[:1].islower() or _ENDS_SENTENCE.search(last.text):
        return False
    if abs(last.size - first.size) > _SAME_SIZE * last.size or last.bold != first.bold or last.mono or first.mono:
        return False
    widths = [max(line.x1 for line in one.lines) - min(line.x0 for line in one.lines) for one in (above, below)]
    is_column = min(widths) > _LEAST_WIDTH * last.size and min(widths) > _NARROWER * max(widths)
    # A caption at the end of a column is not part of the text that continues in the next one.
    is_beside = last.x1 <= first.x0 or first.x1 <= last.x0
    return is_column and is_beside and not CAPTION.match(above.lines[0].text)
