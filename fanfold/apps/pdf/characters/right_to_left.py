"""Puts the characters of Arabic and Hebrew into the order in which they are read, from their places on the line.

A PDF draws a line from left to right, whatever its script. pdfium and the layout engine undo this by the words, and differ
where digits, Latin words, brackets or glyphs with several letters are among them; here each character is placed by itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fanfold.apps.pdf.characters.glyph_runs import Glyph
from fanfold.apps.pdf.characters.glyphs import OwnText
from fanfold.apps.pdf.markdown import cleaning, directions
from fanfold.apps.pdf.markdown.pieces import Piece
from fanfold.apps.pdf.reading.kept_text import letters

# In points: how far the middle of a character may be outside the box of its piece.
_NEAR = 1.5
# In points: pieces are looked up by their place down the page, in bands of this height.
_BAND = 16.0
# In multiples of the type size: a wider gap without a space separates words; characters of one glyph share a position.
_SPACE = 0.3
_SAME_GLYPH = 0.01
_BETWEEN_DIGITS = ".,:/"
_BETWEEN_HEBREW_DIGITS = ".,:/+-"
_AT_DIGITS = "%$€£¥₪°‰#"
_ARABIC = re.compile("[\u0600-\u06ff\u0750-\u08ff\ufb50-\ufdff\ufe70-\ufefc]")
_BRACKETS = {"(": ")", "[": "]", "{": "}", "«": "»", "‹": "›"}
_OTHER_SIDE = {**_BRACKETS, **{close: begin for begin, close in _BRACKETS.items()}}
_AFTER_CLOSING = ".,;:!?،؛؟"


@dataclass(slots=True)
class _Cluster:
    """What one glyph shows, with its marks: its text in reading order, and the indexes of pdfium for its characters."""

    text: str
    indexes: list[int]
    left: float
    right: float
    size: float


class RightToLeft:
    """The characters of a page for its pieces with Arabic or Hebrew."""

    def __init__(self, own: OwnText, pieces: Sequence[Piece]) -> None:
        self._pieces = [piece for piece in pieces if piece.text]
        self._is_base = directions.is_mostly_right_to_left(piece.text for piece in self._pieces)
        self._visible = {glyph.index for glyph in own.glyphs}
        self._held: dict[int, list[Glyph]] = {}
        bands: dict[int, list[tuple[tuple[float, float, float, float], int]]] = {}
        for piece in filter(self.holds, self._pieces):
            box = _box(piece)
            for band in range(int((box[1] - _NEAR) // _BAND), int((box[3] + _NEAR) // _BAND) + 1):
                bands.setdefault(band, []).append((box, id(piece)))
        for glyph in filter(None, map(own.glyph, range(own.textpage.count_chars()))):
            boxes = bands.get(int(_height(glyph) // _BAND), ())
            nearest = min((_distance(glyph, box, key) for box, key in boxes), default=None)
            if nearest is not None and nearest[0] < _NEAR and glyph.text not in "\r\n":
                self._held.setdefault(nearest[2], []).append(glyph)

    def holds(self, piece: Piece) -> bool:
        """Whether a piece has letters from right to left, or brackets and dashes around digits among such text."""
        if cleaning.is_right_to_left(piece.text):
            return True
        return self._is_base and not any(map(str.isalpha, piece.text)) and len(piece.text) > 1 and _is_mixed(piece.text)

    def read(self, piece: Piece) -> tuple[str, list[int]] | None:
        """The text of a piece in reading order, with the index of each character, -1 for spaces; None if it is not certain."""
        held = self._held.get(id(piece), [])
        wanted = letters(piece.text)
        for glyphs in (held, [glyph for glyph in held if glyph.index in self._visible]):
            found = _reading_order(list(_spaced(_clusters(glyphs))), base=self._base(piece))
            text = "".join(cluster.text for cluster in found)
            if text and letters(text) == wanted:
                return text, [index for cluster in found for index in cluster.indexes]
        return None

    def _base(self, piece: Piece) -> bool:
        """Whether the line of a piece runs from right to left: by its own letters or, if it has both, by its line and column."""
        if not any(letter.isalpha() and not cleaning.is_right_to_left(letter) for letter in piece.text):
            return True
        left, top, right, bottom = _box(piece)
        beside = ((other.text, _box(other)) for other in self._pieces)
        return directions.is_mostly_right_to_left(
            text for text, box in beside if (box[0] < right and left < box[2]) or (box[1] < bottom and top < box[3])
        )


def _height(glyph: Glyph) -> float:
    """The middle of the small letters on the line of a character."""
    return glyph.y - 0.3 * glyph.size


def _distance(glyph: Glyph, box: tuple[float, float, float, float], key: int) -> tuple[float, float, int]:
    """How far a character is outside a box, how far from the middle of its line, and the key of the box."""
    x, y = (glyph.box[0] + glyph.box[2]) / 2, _height(glyph)
    outside = max(box[0] - x, x - box[2], box[1] - y, y - box[3], 0.0)
    return outside, abs(box[1] + box[3] - 2 * y), key


def _is_mixed(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(not letter.isdigit() and not letter.isspace() for letter in text)


def _box(piece: Piece) -> tuple[float, float, float, float]:
    return piece.shown or (piece.x0, piece.y0, piece.x1, piece.y1)


def _clusters(held: Sequence[Glyph]) -> list[_Cluster]:
    """The glyphs from left to right; marks belong to the letter over or under which they stand."""
    found: list[_Cluster] = []
    marks = [glyph for glyph in held if unicodedata.combining(glyph.text[0])]
    known = set(map(id, marks))
    before: Glyph | None = None
    for glyph in sorted((glyph for glyph in held if id(glyph) not in known), key=lambda glyph: (glyph.x, glyph.index)):
        text = _plain(glyph.text)
        if before is not None and abs(glyph.x - before.x) < _SAME_GLYPH * glyph.size and _is_own(text):
            # One glyph for several letters: pdfium turns its letters around with the rest of the line.
            found[-1].text, found[-1].indexes = text + found[-1].text, [glyph.index] * len(text) + found[-1].indexes
        else:
            found.append(_Cluster(text, [glyph.index] * len(text), glyph.box[0], glyph.box[2], glyph.size))
        before = glyph
    for mark in sorted(marks, key=lambda glyph: glyph.index):
        middle = (mark.box[0] + mark.box[2]) / 2
        inked = [cluster for cluster in found if cluster.text.strip()]
        if inked:
            nearest = min(inked, key=lambda cluster: max(cluster.left - middle, middle - cluster.right))
            nearest.text += mark.text
            nearest.indexes.append(mark.index)
    return found


def _plain(text: str) -> str:
    """A letter without the form that it has at the begin, in the middle or at the end of a word."""
    return unicodedata.normalize("NFKC", text) if "\ufb1d" <= text <= "\ufefc" else text


def _is_own(text: str) -> bool:
    return cleaning.is_right_to_left(text)


def _spaced(clusters: list[_Cluster]) -> Iterator[_Cluster]:
    """The glyphs with one space where the line has white space."""
    before: _Cluster | None = None
    gap = False
    for cluster in clusters:
        if not cluster.text.strip():
            gap = True
            continue
        if before is not None and (gap or cluster.left - before.right > _SPACE * cluster.size):
            yield _Cluster(" ", [-1], before.right, cluster.left, cluster.size)
        yield cluster
        before, gap = cluster, False


def _reading_order(visual: list[_Cluster], *, base: bool) -> list[_Cluster]:
    """The glyphs of a line in reading order: the reverse of the bidirectional algorithm of Unicode, without embeddings."""
    levels = _levels([_kind(cluster.text) for cluster in visual], base=base)
    order = directions.reordered(levels)
    found = [visual[at] for at in order]
    for at, cluster in enumerate(found):
        if cluster.text in _OTHER_SIDE and levels[order[at]] == 1:
            cluster.text = _bracket(found, at)
    return found


def _kind(text: str) -> str:
    """Right to left (R, or A for Arabic), left to right (L), digit (N), or the neutral character itself."""
    if _is_own(text):
        return "N" if text[0].isdigit() else ("A" if _ARABIC.search(text) else "R")
    if text[0].isdigit():
        return "N"
    return "L" if text[0].isalpha() else text


def _levels(kinds: list[str], *, base: bool) -> list[int]:
    """The level of each glyph: odd from right to left, even from left to right."""
    between = _BETWEEN_DIGITS if "A" in kinds else _BETWEEN_HEBREW_DIGITS
    kinds = ["R" if kind == "A" else kind for kind in kinds]
    for at, kind in enumerate(kinds):
        beside = [kinds[other] if 0 <= other < len(kinds) else "" for other in (at - 1, at + 1)]
        if (kind in between and beside == ["N", "N"]) or (kind in _AT_DIGITS and "N" in beside):
            kinds[at] = "N"
    found: list[int] = []
    for at, kind in enumerate(kinds):
        if kind in ("R", "L"):
            found.append((1 if kind == "R" else 2) if base else (1 if kind == "R" else 0))
            continue
        before = next((one for one in reversed(kinds[:at]) if one in ("R", "L", "N")), "")
        after = next((one for one in kinds[at + 1 :] if one in ("R", "L", "N")), "")
        found.append(_weak_level(kind == "N", _strong(kinds, at), (before, after), base=base))
    return found


def _strong(kinds: list[str], at: int) -> tuple[str, str]:
    """The letters before and after a glyph."""
    before = next((one for one in reversed(kinds[:at]) if one in ("R", "L")), "")
    return before, next((one for one in kinds[at + 1 :] if one in ("R", "L")), "")


def _weak_level(is_digit: bool, strong: tuple[str, str], beside: tuple[str, str], *, base: bool) -> int:
    if not base:
        return (2 if is_digit else 1) if strong == ("R", "R") else 0
    return 2 if is_digit or ("L" in beside and set(beside) <= {"L", "N"}) else 1


def _bracket(found: list[_Cluster], at: int) -> str:
    """A bracket as it is meant: some files have it as it looks on the line, others as it reads."""
    text = found[at].text
    before = found[at - 1].text[-1] if at else " "
    after = found[at + 1].text[0] if at + 1 < len(found) else " "
    opens = before in " ([{«‹" and after != " "
    closes = before != " " and (after in " )]}»›" or after in _AFTER_CLOSING)
    if opens == closes:
        return text
    return text if (text in _BRACKETS) == opens else _OTHER_SIDE[text]
