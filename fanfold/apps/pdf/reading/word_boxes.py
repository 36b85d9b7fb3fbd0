"""Finds the box of every word of a piece: from pdfium's characters, or by dividing the box of the piece."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from fanfold.apps.pdf.characters.glyphs import OwnText
from fanfold.apps.pdf.characters.pdfium_text import SIMPLIFIED
from fanfold.apps.pdf.markdown import cleaning, directions
from fanfold.apps.pdf.markdown.pieces import Piece

Edges = tuple[float, float, float, float]
"""Left, top, right and bottom on the displayed page, in points."""

# A word, or up to four characters in scripts without spaces.
_WORD = re.compile(f"[{cleaning.CJK}]{{1,4}}|[^\\s{cleaning.CJK}]+")
# How far the characters may be from the box that the layout engine reports for them, in points.
_TOLERANCE = 3.0
# The same text may be on a page many times, such as 0.0 in a table.
_MOST_PLACES = 200


class Word(NamedTuple):
    """A word of a piece: its offset in the text of the piece, and its edges."""

    start: int
    text: str
    edges: Edges


class Characters:
    """The letters of a page in file order, without white space, and the index of each in pdfium's text."""

    def __init__(self, own: OwnText | None) -> None:
        self._own = own
        self._letters = ""
        self._indexes = array("L")
        self._position = 0
        if own is not None:
            self._take(own)

    def _take(self, own: OwnText) -> None:
        import pypdfium2.raw as raw

        letters: list[str] = []
        for index in range(own.textpage.count_chars()):
            code = raw.FPDFText_GetUnicode(own.textpage, index)
            plain = _plain(chr(code)) if 0 < code < 0x110000 else ""
            letters.append(plain)
            self._indexes.extend([index] * len(plain))
        self._letters = "".join(letters)

    def words(self, piece: Piece) -> list[Word]:
        """The words of a piece, with their boxes."""
        edges = piece.shown or (piece.x0, piece.y0, piece.x1, piece.y1)
        at = self._place(_plain(piece.text), edges)
        if at is None or self._own is None:
            return list(_divided(piece.text, edges))
        return list(self._measured(piece.text, at, edges))

    def _place(self, letters: str, edges: Edges) -> int | None:
        """Where the letters of a piece begin: the first match after the previous piece that is within the box of this piece."""
        for start in (self._position, 0) if letters else ():
            at = self._letters.find(letters, start)
            for _ in range(_MOST_PLACES):
                if at < 0:
                    break
                if self._is_within(at, edges) and self._is_within(at + len(letters) - 1, edges):
                    self._position = at + len(letters)
                    return at
                at = self._letters.find(letters, at + 1)
        return None

    def _is_within(self, letter: int, edges: Edges) -> bool:
        left, top, right, bottom = self._edges(letter)
        x, y = (left + right) / 2, (top + bottom) / 2
        return (
            edges[0] - _TOLERANCE <= x <= edges[2] + _TOLERANCE and edges[1] - _TOLERANCE <= y <= edges[3] + _TOLERANCE
        )

    def _measured(self, text: str, at: int, edges: Edges) -> Iterator[Word]:
        for match in _WORD.finditer(text):
            length = len(_plain(match[0]))
            if not length:
                continue
            first, last = self._edges(at), self._edges(at + length - 1)
            at += length
            found = (
                min(first[0], last[0]),
                max(min(first[1], last[1]), edges[1]),
                max(first[2], last[2]),
                min(max(first[3], last[3]), edges[3]),
            )
            yield Word(match.start(), match[0], found)

    def _edges(self, letter: int) -> Edges:
        assert self._own is not None
        return self._own.edges(self._indexes[letter])


def _plain(text: str) -> str:
    return "".join(cleaning.characters(text.translate(SIMPLIFIED)).split())


def _divided(text: str, edges: Edges) -> Iterator[Word]:
    """Words with an estimated box: Chinese characters are about twice as wide as Latin letters."""
    left, top, right, bottom = edges
    if directions.is_mostly_right_to_left([text]):
        left, right = right, left
    widths = [2 if cleaning.is_cjk(character) else 1 for character in text]
    whole = sum(widths) or 1
    tall = bottom - top > 2 * abs(right - left) and len(text) > 2
    for match in _WORD.finditer(text):
        begins, ends = sum(widths[: match.start()]) / whole, sum(widths[: match.end()]) / whole
        if tall:
            height = bottom - top
            yield Word(match.start(), match[0], (left, top + begins * height, right, top + ends * height))
        else:
            width = right - left
            ends_of_word = sorted((left + begins * width, left + ends * width))
            yield Word(match.start(), match[0], (ends_of_word[0], top, ends_of_word[1], bottom))
