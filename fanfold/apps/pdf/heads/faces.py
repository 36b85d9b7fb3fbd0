"""Tells the faces of a document's text from those that only headings have: another font, another colour."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from fanfold.apps.pdf.markdown.lines import Line
from fanfold.apps.pdf.markdown.pieces import BOLD, ITALIC, Piece, RawPage

# A face with a larger share of the letters is one of the text.
_SHARE_OF_TEXT = 0.12
_SUBSET = re.compile(r"^[A-Z]{6}\+")
# In points: how far the ends of an underline may be from those of its line.
_SAME_END = 4.0


@lru_cache(maxsize=512)
def face(font: str, colour: str | None) -> str:
    """A font and a colour as one name; empty if the font is not known."""
    return f"{_SUBSET.sub('', font)} {colour or ''}" if font else ""


def of_text(pages: Iterable[RawPage]) -> list[str]:
    """The faces in which the text of these pages is set."""
    letters: Counter[str] = Counter()
    for page in pages:
        for piece in page.pieces:
            letters[piece.face] += len(piece.text)
    least = _SHARE_OF_TEXT * letters.total()
    return sorted(name for name, count in letters.items() if name and count > least)


class Faces:
    """The faces of a document's text."""

    def __init__(self, text: Iterable[str]) -> None:
        self._text = frozenset(text)

    def are_other(self, lines: Sequence[Line]) -> bool:
        """Whether no piece of these lines is set in a face of the text."""
        pieces = [piece for line in lines for piece in line.pieces]
        found = {piece.face for piece in pieces}
        return bool(self._text) and "" not in found and self._text.isdisjoint(found) and all(map(_is_even, pieces))


def _is_even(piece: Piece) -> bool:
    """Whether all of a piece is set as its first character, whose face is known."""
    flags = piece.flags or ()
    return (
        len({flag & (BOLD | ITALIC) for flag, letter in zip(flags, piece.text, strict=False) if letter.isalnum()}) < 2
    )


def is_underlined(line: Line) -> bool:
    """Whether a rule of its own length is drawn below all of a line."""
    rules = [piece.underline for piece in line.pieces]
    if not rules or any(rule is None for rule in rules):
        return False
    starts, ends = zip(*(rule for rule in rules if rule is not None), strict=True)
    return bool(abs(min(starts) - line.x0) < _SAME_END and abs(max(ends) - line.x1) < _SAME_END)
