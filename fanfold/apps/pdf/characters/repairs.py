"""Adds to a page what the layout engine lost and pdfium has: one of two overlapping pieces, or a piece in a rare font."""

from __future__ import annotations

from collections.abc import Sequence

from fanfold.apps.pdf.markdown.pieces import Piece, RawPage
from fanfold.apps.pdf.reading.angles import Angled
from fanfold.apps.pdf.reading.kept_text import letters

# In points: a piece is within another if its middle is, to this tolerance.
_TOLERANCE = 1.0
_LEVEL = 0.5


def repair(page: RawPage, runs: Sequence[Angled]) -> bool:
    """Add the runs of pdfium that the page lacks; False if text is turned, and the page must be read again."""
    if page.turned or any(abs((angle + 180) % 360 - 180) > _LEVEL for _, angle in runs):
        return False
    for run, _ in runs:
        near = [piece for piece in page.pieces if _overlap(piece, run)]
        if not letters(run.text) - letters(" ".join(piece.text for piece in near)):
            continue
        parts = {id(piece) for piece in near if _is_within(piece, run) and not letters(piece.text) - letters(run.text)}
        page.pieces = [piece for piece in page.pieces if id(piece) not in parts]
        page.pieces.append(run)
    return True


def _overlap(piece: Piece, run: Piece) -> bool:
    middle = (piece.y0 + piece.y1) / 2
    level = run.y0 <= middle <= run.y1 or piece.y0 <= (run.y0 + run.y1) / 2 <= piece.y1
    return level and piece.x0 < run.x1 + _TOLERANCE and run.x0 < piece.x1 + _TOLERANCE


def _is_within(piece: Piece, run: Piece) -> bool:
    return run.x0 - _TOLERANCE <= piece.x0 and piece.x1 <= run.x1 + _TOLERANCE
