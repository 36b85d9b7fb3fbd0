"""Puts the characters of a page together to runs of a line, with spaces where there are gaps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

# In multiples of the type size: a larger gap or step back starts a new piece; a step off the line starts a new line.
_GAP = 1.5
_BACK = 0.6
_STEP = 0.35
_SPACE = 0.18
_SAME_ANGLE = 2.0
_SAME_SIZE = 0.25


@dataclass(slots=True)
class Glyph:
    """One character: its position on the baseline, in points from the top left of the displayed page, and its box."""

    text: str
    x: float
    y: float
    box: tuple[float, float, float, float]
    size: float
    angle: float
    index: int


def runs(glyphs: list[Glyph]) -> Iterator[list[Glyph]]:
    """Characters that follow each other on one line."""
    run: list[Glyph] = []
    for glyph in glyphs:
        if glyph.text in "\r\n":
            continue
        if run and not _follows(run[-1], glyph):
            yield run
            run = []
        run.append(glyph)
    if run:
        yield run


def _follows(before: Glyph, glyph: Glyph) -> bool:
    if abs((glyph.angle - before.angle + 180) % 360 - 180) > _SAME_ANGLE:
        return False
    size = max(before.size, glyph.size)
    if abs(before.size - glyph.size) > _SAME_SIZE * size and glyph.text.strip() and before.text.strip():
        return False
    along, across = _steps(before, glyph)
    end = along - _advance(before)
    return abs(across) < _STEP * size and -_BACK * size - _advance(before) < end < _GAP * size


def _steps(before: Glyph, glyph: Glyph) -> tuple[float, float]:
    """Distance between two characters, along the line and across it."""
    radians = math.radians(before.angle)
    right, down = glyph.x - before.x, glyph.y - before.y
    return right * math.cos(radians) + down * math.sin(radians), down * math.cos(radians) - right * math.sin(radians)


def _advance(glyph: Glyph) -> float:
    """Extent of a character along its line."""
    left, top, right, bottom = glyph.box
    sine, cosine = abs(math.sin(math.radians(glyph.angle))), abs(math.cos(math.radians(glyph.angle)))
    return right - left if cosine > sine else bottom - top


def spaced(run: list[Glyph]) -> str:
    """The text of a run, with spaces where there are gaps."""
    text = run[0].text
    for before, glyph in itertools.pairwise(run):
        along, _ = _steps(before, glyph)
        wide = along - _advance(before) > _SPACE * max(before.size, glyph.size)
        if wide and before.text.strip() and glyph.text.strip():
            text += " "
        text += glyph.text
    return " ".join(text.split())
