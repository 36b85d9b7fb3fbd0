"""Reads Japanese and Chinese that is set in vertical lines: from top to bottom, and from the right line to the left one.

The page is turned, so that its lines are level and follow each other downwards, as everywhere else.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fanfold.apps.pdf.characters.glyph_runs import Glyph
from fanfold.apps.pdf.markdown.cleaning import CJK
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage

if TYPE_CHECKING:
    from fanfold.apps.pdf.characters.glyphs import OwnText

_CJK = re.compile(f"[{CJK}]")
# The layout engine reads vertical lines as short pieces; longer ones on average are level lines.
_SHORT = 5
# Smallest share of the characters below the one before them.
_MOST = 0.6
# In multiples of the type size: how far a character may be beside the one before it, and below it.
_BESIDE = 0.35
_NEAREST, _FARTHEST = 0.6, 1.7


def page(read: RawPage, own: OwnText) -> RawPage | None:
    """A page whose text is vertical, turned; None if it is not."""
    if not read.pieces or len(_CJK.findall(read.text)) < 0.5 * sum(map(str.isalnum, read.text)):
        return None
    if sum(len(piece.text) for piece in read.pieces) > _SHORT * len(read.pieces):
        return None
    glyphs = [glyph for glyph in own.glyphs if glyph.text.strip()]
    below = sum(_is_below(before, glyph) for before, glyph in itertools.pairwise(glyphs))
    if not glyphs or below < _MOST * (len(glyphs) - 1) or below < 2:
        return None
    found = RawPage(read.number, own.height, own.width)
    found.pieces = [_turned(run, own.width) for run in _runs(glyphs)]
    return found


def _is_below(before: Glyph, glyph: Glyph) -> bool:
    size = max(before.size, glyph.size)
    across = abs(glyph.box[0] + glyph.box[2] - before.box[0] - before.box[2]) / 2
    return across < _BESIDE * size and _NEAREST * size < _top(glyph) - _top(before) < _FARTHEST * size


def _top(glyph: Glyph) -> float:
    return (glyph.box[1] + glyph.box[3]) / 2


def _runs(glyphs: Sequence[Glyph]) -> list[list[Glyph]]:
    """Characters of one line: below each other, or side by side as a number set upright in the line."""
    found: list[list[Glyph]] = []
    for glyph in glyphs:
        before = found[-1][-1] if found else None
        is_beside = before is not None and abs(_top(glyph) - _top(before)) < _BESIDE * glyph.size
        if before is not None and (
            _is_below(before, glyph) or (is_beside and 0 < glyph.x - before.x < 1.2 * glyph.size)
        ):
            found[-1].append(glyph)
        else:
            found.append([glyph])
    return found


def _turned(run: Sequence[Glyph], width: float) -> Piece:
    left, right = min(glyph.box[0] for glyph in run), max(glyph.box[2] for glyph in run)
    top, bottom = min(glyph.box[1] for glyph in run), max(glyph.box[3] for glyph in run)
    text = "".join(glyph.text for glyph in run)
    turned = Piece(text, top, width - right, bottom, width - left, run[0].size, False, False)
    turned.shown = (left, top, right, bottom)
    return turned
