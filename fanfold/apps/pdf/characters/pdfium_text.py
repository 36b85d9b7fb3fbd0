"""Corrects the characters of pieces from pdfium's own text, and finds how each of them is set.

liteparse replaces curly quotes and dashes with straight quotes and hyphens, and knows only the font of a piece's first
character. pdfium has both for every character; a piece is located in pdfium's text by its own text.
"""

from __future__ import annotations

import re
import unicodedata

from fanfold.apps.pdf.characters import surrogates
from fanfold.apps.pdf.characters.glyphs import OwnText
from fanfold.apps.pdf.characters.right_to_left import RightToLeft
from fanfold.apps.pdf.characters.type_spans import TypeSpans
from fanfold.apps.pdf.markdown import cleaning
from fanfold.apps.pdf.markdown.pieces import BOLD, MONO, SUB, SUP, Piece
from fanfold.apps.pdf.reading.kept_text import letters

SIMPLIFIED = str.maketrans("‘’‚‛“”„‟–—―‒−‐‑\u00a0\x02\ufffe", "''''\"\"\"\"------- --")
"""Makes curly quotes and dashes straight, as the layout engine does."""
# How far, in points, a character may be from the box of its piece; and how many copies of a text are looked at.
_NEAR = 2.0
_MOST_PLACES = 40
_LEAST_LOOSE = 6
# Accents as characters of their own, and the marks that make one character of them and their letter.
_COMBINING = {
    "\u00a8": "\u0308", "\u00b4": "\u0301", "`": "\u0300", "\u02c6": "\u0302", "^": "\u0302", "\u02dc": "\u0303",
    "\u00af": "\u0304", "\u02c9": "\u0304", "\u02d8": "\u0306", "\u02c7": "\u030c", "\u02da": "\u030a",
    "\u02d9": "\u0307", "\u02dd": "\u030b", "\u00b8": "\u0327", "\u02db": "\u0328",
}  # fmt: skip
_ACCENT = re.compile(f"[{re.escape(''.join(_COMBINING))}]")
_HYPHENS = str.maketrans("\x02\ufffe", "--")


def correct(own: OwnText, pieces: list[Piece]) -> list[str]:
    """Restore quotes and dashes in the pieces and record how their characters are set; returns the page's links."""
    original = own.units
    simple = original.translate(SIMPLIFIED)
    # pdfium omits characters it cannot map, and then text and font indexes differ.
    spans = own.type_spans if len(original) == own.textpage.count_chars() else None
    position = 0
    loose: _Loose | None = None
    reversed_text = RightToLeft(own, pieces) if any(map(cleaning.is_right_to_left, _texts(pieces))) else None
    for piece in (piece for piece in pieces if piece.text):
        if reversed_text is not None and reversed_text.holds(piece):
            _turn_around(own, piece, reversed_text, spans)
            continue
        start = place(own, simple, piece, position)
        if start < 0:
            if spans is not None and piece.text.isprintable():
                loose = loose or _Loose(simple)
                _set_loosely(piece, loose.indexes(piece.text), spans)
            continue
        position = start + len(surrogates.split(piece.text))
        piece.text = original[start:position].translate(
            _HYPHENS
        )  # pdfium's own signs for a hyphen at the end of a line
        if spans is not None:
            flags = spans.flags(start, position)
            if any(flag != flags[0] for flag in flags):
                # The layout engine knows the type size of the first character only, which may be raised.
                usual = max(set(flags), key=lambda flag: (not flag & (SUP | SUB), flags.count(flag)))
                piece.size *= spans.size(start + flags.index(usual)) / (spans.size(start) or 1.0) or 1.0
            _set(piece, flags)
        piece.text = surrogates.joined(piece.text)
        if _ACCENT.search(piece.text):
            _compose(own, piece, start)
    return [address for _, _, address in spans.links] if spans is not None else []


def _texts(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces]


def _compose(own: OwnText, piece: Piece, start: int) -> None:
    """Put accents that are characters of their own, as TeX draws them, on the letters above which they stand."""
    text, flags = piece.text, piece.flags
    if own.units[start : start + len(text)].translate(_HYPHENS) != text or (flags and len(flags) != len(text)):
        return
    found: list[str] = []
    settings: list[int] = []
    mark = ""
    for at, letter in enumerate(text):
        composed = unicodedata.normalize("NFC", letter + mark)
        mark = _COMBINING.get(letter, "")
        if mark and at and _is_one(found[-1] + mark) and _is_above(own, start + at, start + at - 1):
            found[-1], mark = unicodedata.normalize("NFC", found[-1] + mark), ""
        elif not (mark and _is_one(text[at + 1 : at + 2] + mark) and _is_above(own, start + at, start + at + 1)):
            mark = ""
            found.append(composed)
            settings.append(flags[at] if flags else 0)
    piece.text, piece.flags = "".join(found), settings if flags else None


def _is_one(text: str) -> bool:
    """Whether a letter and a mark are one character together."""
    return len(text) == 2 and len(unicodedata.normalize("NFC", text)) == 1


def _is_above(own: OwnText, accent: int, letter: int) -> bool:
    """Whether the middle of an accent is over a letter."""
    left, _, right, _ = own.edges(letter)
    start, _, end, _ = own.edges(accent)
    return left < (start + end) / 2 < right


class _Loose:
    """pdfium's text without its spaces and line ends, some of which the layout engine does not have."""

    def __init__(self, text: str) -> None:
        self._places = [at for at, letter in enumerate(text) if not letter.isspace()]
        self._text = "".join(text[at] for at in self._places)

    def indexes(self, text: str) -> list[int] | None:
        """Where the characters of a text are, -1 for its spaces; None if it is there never or more than once."""
        wanted = "".join(text.split())
        first = self._text.find(wanted)
        if len(wanted) < _LEAST_LOOSE or first < 0 or self._text.find(wanted, first + 1) >= 0:
            return None
        places = iter(self._places[first : first + len(wanted)])
        return [-1 if letter.isspace() else next(places) for letter in text]


def _set_loosely(piece: Piece, indexes: list[int] | None, spans: TypeSpans) -> None:
    """Record how the characters of a piece are set that pdfium's text has with other spaces."""
    if indexes is None:
        return
    flags = [spans.flags(index, index + 1)[0] if index >= 0 else 0 for index in indexes]
    for at in range(1, len(flags) - 1):
        if indexes[at] < 0:
            flags[at] = flags[at - 1] & flags[at + 1]
    _set(piece, flags)


def _turn_around(own: OwnText, piece: Piece, reversed_text: RightToLeft, spans: TypeSpans | None) -> None:
    """Put Arabic and Hebrew into the order in which they are read: by the places of the letters, or else as pdfium has them."""
    read = reversed_text.read(piece)
    if read is not None:
        piece.text, indexes = read
        if spans is not None:
            _set_loosely(piece, indexes, spans)
        return
    found = own.text_within(piece.shown or (piece.x0, piece.y0, piece.x1, piece.y1))
    if letters(found) == letters(piece.text):
        piece.text = " ".join(cleaning.characters(found).split())


def place(own: OwnText, simple: str, piece: Piece, position: int) -> int:
    """Where a piece is in pdfium's text; if its text is there several times, by its place on the page."""
    text = surrogates.split(piece.text)
    first = simple.find(text)
    if first < 0 or simple.find(text, first + 1) < 0:
        return first
    box = piece.shown or (piece.x0, piece.y0, piece.x1, piece.y1)
    for begin in (position, 0):
        at = simple.find(text, begin)
        for _ in range(_MOST_PLACES):
            if at < 0:
                break
            left, top, right, bottom = own.edges(at)
            x, y = (left + right) / 2, (top + bottom) / 2
            if box[0] - _NEAR <= x <= box[2] + _NEAR and box[1] - _NEAR <= y <= box[3] + _NEAR:
                return at
            at = simple.find(text, at + 1)
    at = simple.find(text, position)
    return at if at >= 0 else first


def _set(piece: Piece, flags: list[int]) -> None:
    """Record how the characters of a piece are set, in step with its cleaned text."""
    if not any(flags):
        piece.bold = piece.mono = False
        return
    text = ""
    settings: list[int] = []
    start = 0
    for end in range(1, len(flags) + 1):
        if end == len(flags) or flags[end] != flags[start]:
            part = surrogates.joined(cleaning.characters(piece.text[start:end]))
            text, start, settings = text + part, end, [*settings, *([flags[start]] * len(part))]
    inked = [flag for letter, flag in zip(text, settings, strict=True) if letter.isalnum()] or settings
    piece.text, piece.flags = text, settings
    piece.bold = bool(inked) and sum(bool(flag & BOLD) for flag in inked) >= 0.9 * len(inked)
    piece.mono = bool(inked) and all(flag & MONO for flag in inked)
