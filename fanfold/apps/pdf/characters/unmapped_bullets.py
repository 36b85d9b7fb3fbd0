"""Reads bullets whose font does not say which character they are: a control character at the start of a line."""

from __future__ import annotations

import re

from fanfold.apps.pdf.characters.glyphs import OwnText
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage

_BULLET = re.compile(r"(?:^|(?<=\n))[\x7f-\x9f](?= \S)")
_FURTHEST = 3.5


def add(own: OwnText, page: RawPage) -> None:
    """Add these bullets to the page, on the lines of their text."""
    text = own.units
    if len(text) != own.textpage.count_chars():
        return
    for match in _BULLET.finditer(text):
        left, top, right, bottom = own.edges(match.start())
        start, _, _, _ = own.edges(match.end() + 1)
        middle = (top + bottom) / 2
        line = next(
            (piece for piece in page.pieces if abs(piece.x0 - start) < 1 and piece.y0 < middle < piece.y1), None
        )
        if line is not None and left < line.x0 < right + _FURTHEST * line.size:
            page.pieces.append(
                Piece("•", left, line.y0, min(right, line.x0), line.y1, line.size, False, False, face=line.face)
            )
