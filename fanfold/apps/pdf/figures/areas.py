"""Finds the areas of a page that are figures: images, and drawings that are neither rules nor tables."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fanfold.apps.pdf.characters.glyphs import OwnText
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage, Table

Area = tuple[float, float, float, float]
"""Left, top, right and bottom on the displayed page, in points."""

FIGURE = re.compile(
    r"(?:figure|fig\.?|abb\.|abbildung|scheme|plate|chart|exhibit|photo(?:graph)?|illustration|map|图|図)\s*(?:[\dIVX]+|[A-Z]\b)",
    re.IGNORECASE,
)
"""How the caption of a figure begins."""
NEAR = 45.0
"""In points: a caption is at most this far above or below its figure."""
# In points: what is drawn in the same or in neighbouring cells of a grid is one figure.
_CELL = 7.0
# In points: a smaller figure is an icon; thinner parts are rules; labels are at most this far outside.
_LEAST = (36.0, 28.0)
_THIN = 2.5
_LABELS = 10.0
_LONGEST_LABEL = 24
# What covers more of the page is its background, or a scan.
_MOST_OF_PAGE = 0.75
# A drawing with more text in it is a box around text; with fewer parts it is an ornament.
_MOST_TEXT = 0.35
_FEW_PARTS = 5
_FEW_WITH_CAPTION = 3
_MOST_PARTS = 20_000
_DEEPEST = 3


@dataclass(slots=True)
class _Part:
    """One thing that is drawn."""

    area: Area
    is_image: bool
    count: int = 1


def areas_of(own: OwnText, raw: RawPage, tables: Sequence[Table]) -> list[Area]:
    """The figures of a page, from top to bottom."""
    found = []
    for parts in _clusters(list(_parts(own, tables)), own):
        area = _around([part.area for part in parts])
        if _is_figure(parts, area, raw.pieces) and not any(_share(area, _edges(table)) > 0.5 for table in tables):
            found.append(_with_labels(area, raw.pieces, own))
    return sorted(found, key=lambda area: (area[1], area[0]))


def _parts(own: OwnText, tables: Sequence[Table]) -> Iterator[_Part]:
    import pypdfium2.raw as raw

    whole = own.width * own.height
    for at, found in enumerate(own.page.get_objects(max_depth=1)):
        if at > _MOST_PARTS:
            return
        if found.type not in (raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_FORM):
            continue
        area = _clipped(own.shown_box(found.get_bounds()), own)
        width, height = area[2] - area[0], area[3] - area[1]
        is_image = found.type == raw.FPDF_PAGEOBJ_IMAGE
        if width <= 0 or height <= 0 or width * height > _MOST_OF_PAGE * whole:
            continue
        if not is_image and any(_share(area, _edges(table)) > 0.8 for table in tables):
            continue
        if found.type == raw.FPDF_PAGEOBJ_FORM:
            inner = [one for one in own.page.get_objects(form=found.raw, max_depth=_DEEPEST) if one.type != 1]
            if inner:
                yield _Part(area, any(one.type == raw.FPDF_PAGEOBJ_IMAGE for one in inner), len(inner))
        elif is_image or min(width, height) > _THIN or max(width, height) < 0.5 * own.width:
            yield _Part(area, is_image)


def _clipped(area: Area, own: OwnText) -> Area:
    return max(area[0], 0.0), max(area[1], 0.0), min(area[2], own.width), min(area[3], own.height)


def _clusters(parts: list[_Part], own: OwnText) -> Iterator[list[_Part]]:
    """Parts that are drawn in neighbouring cells of a grid."""
    cells: dict[tuple[int, int], list[int]] = {}
    for number, part in enumerate(parts):
        for cell in _cells(part.area):
            cells.setdefault(cell, []).append(number)
    seen: set[tuple[int, int]] = set()
    for first in cells:
        if first in seen:
            continue
        seen.add(first)
        group: set[int] = set()
        waiting = [first]
        while waiting:
            column, row = waiting.pop()
            group.update(cells[column, row])
            for near in ((column + x, row + y) for x in (-1, 0, 1) for y in (-1, 0, 1)):
                if near in cells and near not in seen:
                    seen.add(near)
                    waiting.append(near)
        yield [parts[number] for number in sorted(group)]


def _cells(area: Area) -> Iterator[tuple[int, int]]:
    for column in range(math.floor(area[0] / _CELL), math.floor(area[2] / _CELL) + 1):
        for row in range(math.floor(area[1] / _CELL), math.floor(area[3] / _CELL) + 1):
            yield column, row


def _is_figure(parts: Sequence[_Part], area: Area, pieces: Sequence[Piece]) -> bool:
    """Whether parts are a figure and not an icon, an ornament, or a box around text."""
    width, height = area[2] - area[0], area[3] - area[1]
    if width < _LEAST[0] or height < _LEAST[1]:
        return False
    if any(part.is_image and _share(area, part.area) > 0.3 for part in parts):
        return True
    inked = sum(_share(_box(piece), area) * _size(_box(piece)) for piece in pieces)
    few = _FEW_WITH_CAPTION if any(_is_caption(piece, area) for piece in pieces) else _FEW_PARTS
    return sum(part.count for part in parts) >= few and inked < _MOST_TEXT * width * height


def _is_caption(piece: Piece, area: Area) -> bool:
    """Whether a piece begins the caption of a figure above or below it."""
    left, top, right, bottom = _box(piece)
    distance = max(top - area[3], area[1] - bottom)
    return left < area[2] and area[0] < right and distance < NEAR and FIGURE.match(piece.text) is not None


def _with_labels(area: Area, pieces: Sequence[Piece], own: OwnText) -> Area:
    """The area with the labels around it, such as those of axes."""
    left, top, right, bottom = area
    near = (left - _LABELS, top - _LABELS, right + _LABELS, bottom + _LABELS)
    labels = [_box(piece) for piece in pieces if len(piece.text) <= _LONGEST_LABEL and _share(_box(piece), near) > 0.6]
    return _clipped(_around([area, *labels]), own)


def _around(areas: Sequence[Area]) -> Area:
    lefts, tops, rights, bottoms = zip(*areas, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _box(piece: Piece) -> Area:
    return piece.shown or (piece.x0, piece.y0, piece.x1, piece.y1)


def _edges(table: Table) -> Area:
    return table.x0, table.y0, table.x1, table.y1


def _size(area: Area) -> float:
    return max(area[2] - area[0], 0.1) * max(area[3] - area[1], 0.1)


def _share(part: Area, whole: Area) -> float:
    """How much of an area lies within another one."""
    width = min(part[2], whole[2]) - max(part[0], whole[0])
    height = min(part[3], whole[3]) - max(part[1], whole[1])
    return max(width, 0.0) * max(height, 0.0) / _size(part)
