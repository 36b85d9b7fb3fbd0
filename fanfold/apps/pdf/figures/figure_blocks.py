"""Places the figures of a page among its blocks: at their captions or, without one, below what stands above them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fanfold.apps.pdf.figures.areas import FIGURE, NEAR, Area
from fanfold.apps.pdf.markdown.blocks import Block

_LONGEST_NAME = 120


def placed(
    blocks: Sequence[Block], areas: Sequence[Area], page: int, formulas: Sequence[Area] = ()
) -> tuple[list[Block], list[Area]]:
    """The blocks with those of the figures, and the area of each figure, in their order.

    Parts of a figure with one caption are one figure. ``formulas`` are areas of formulas that could not be read.
    """
    own: dict[int, list[Area]] = {}
    alone: list[Area] = []
    for area in areas:
        at = _caption(blocks, area)
        if at is None:
            alone.append(area)
        else:
            own.setdefault(at, []).append(area)
    before: dict[int, list[tuple[Area, str]]] = {at: [(_around(parts), _name(blocks[at]))] for at, parts in own.items()}
    for area in alone:
        before.setdefault(_following(blocks, area), []).append((area, f"Figure on page {page}"))
    for area in formulas:
        before.setdefault(_following(blocks, area), []).append((area, f"Formula on page {page}"))
    found: list[Block] = []
    kept: list[Area] = []
    for at, block in enumerate([*blocks, None]):
        for area, name in before.get(at, ()):
            kept.append(area)
            target = f"files/page-{page:04}-{len(kept)}.png"
            found.append(Block("figure", [], marker=f"![{name}]({target})"))
        if block is not None:
            found.append(block)
    return found, kept


def _caption(blocks: Sequence[Block], area: Area) -> int | None:
    """The caption closest to an area."""
    near: list[tuple[float, int]] = []
    for at, block in enumerate(blocks):
        if not block.lines or block.table is not None or not FIGURE.match(block.lines[0].text):
            continue
        left, right = min(line.x0 for line in block.lines), max(line.x1 for line in block.lines)
        distance = max(block.lines[0].y0 - area[3], area[1] - block.lines[-1].y1, 0.0)
        if left < area[2] and area[0] < right and distance < NEAR:
            near.append((distance, at))
    return min(near)[1] if near else None


def _following(blocks: Sequence[Block], area: Area) -> int:
    """Where a figure without a caption goes: behind the last block above it in its column."""
    found = 0
    for at, block in enumerate(blocks):
        lines = [line for line in block.lines if line.x0 < area[2] and area[0] < line.x1]
        if lines and lines[0].y0 < (area[1] + area[3]) / 2:
            found = at + 1
    return found


def _around(areas: Sequence[Area]) -> Area:
    lefts, tops, rights, bottoms = zip(*areas, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _name(caption: Block) -> str:
    """The caption as the text that stands for the picture."""
    text = re.sub(r"[\[\]\\`*_<>]", "", " ".join(line.text for line in caption.lines))
    return text if len(text) <= _LONGEST_NAME else text[:_LONGEST_NAME].rsplit(" ", 1)[0] + " …"
