"""Cuts pieces of text where an upright rule runs between two of their characters: the layout engine joins close cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fanfold.apps.pdf.characters import surrogates
from fanfold.apps.pdf.characters.glyphs import OwnText
from fanfold.apps.pdf.characters.pdfium_text import SIMPLIFIED, place
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage

# In multiples of the type size: a rule this far inside a character strikes through it.
_INTO = 0.12
_MOST_CUT = 400


def at_rules(own: OwnText, page: RawPage) -> None:
    """Cut the pieces of a page that run across upright rules, unless a rule strikes through characters."""
    if not page.rules.upright:
        return
    simple = own.units.translate(SIMPLIFIED)
    cut: dict[int, list[float]] = {}
    for x, top, bottom in page.rules.upright:
        across = [piece for piece in page.pieces if _is_across(piece, x, top, bottom)]
        places = {id(piece): _cut_place(own, simple, piece, x) for piece in across[:_MOST_CUT]}
        if places and all(at is not None for at in places.values()):
            for piece in across:
                cut.setdefault(id(piece), []).append(x)
    if cut:
        page.pieces = [
            part for piece in page.pieces for part in _parts(own, simple, piece, sorted(cut.get(id(piece), ())))
        ]


def _is_across(piece: Piece, x: float, top: float, bottom: float) -> bool:
    middle = (piece.y0 + piece.y1) / 2
    return piece.x0 + 0.3 * piece.size < x < piece.x1 - 0.3 * piece.size and top < middle < bottom


def _cut_place(own: OwnText, simple: str, piece: Piece, x: float) -> int | None:
    """How many characters of a piece are left of a rule; None if it strikes through one, or if they are not found."""
    length = len(surrogates.split(piece.text))
    start = place(own, simple, piece, 0)
    if start < 0 or piece.shown is not None:
        return None
    into = _INTO * piece.size
    at = 0
    for index in range(length):
        if simple[start + index].isspace():
            continue
        left, _, right, _ = own.edges(start + index)
        if left + into < x < right - into:
            return None
        if (left + right) / 2 < x:
            at = index + 1
    return at if 0 < at < length else None


def _parts(own: OwnText, simple: str, piece: Piece, places: Sequence[float]) -> list[Piece]:
    """A piece, cut at these places."""
    parts = [piece]
    for x in places:
        last = parts[-1]
        at = _cut_place(own, simple, last, x)
        if at is None:
            continue
        text = surrogates.split(last.text)
        before, after = surrogates.joined(text[:at]).rstrip(), surrogates.joined(text[at:]).lstrip()
        if before and after:
            start = place(own, simple, last, 0)
            first = at + len(text[at:]) - len(text[at:].lstrip())
            left, right = own.edges(start + first)[0], own.edges(start + len(text[:at].rstrip()) - 1)[2]
            parts[-1:] = [replace(last, text=before, x1=min(right, x)), replace(last, text=after, x0=max(left, x))]
    return parts
