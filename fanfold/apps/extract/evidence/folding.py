"""Folds text for comparison: keeps only meaningful characters, with the original offset of each.

A quote and its original differ in white space, hyphens at line ends, ligatures, quotation marks, dashes, accents, case and
full-width forms. Folding removes these differences, so a plain search finds most quotes. Numbers and their signs are
compared
separately, in the original text.
"""

from __future__ import annotations

import unicodedata
from array import array
from bisect import bisect_left
from typing import NamedTuple

# Signs that look alike, or that PDF fonts and models exchange.
_ALIKE = str.maketrans(
    {"。": ".", "、": ",", "·": ".", "∙": ".", "⋅": ".", "×": "x", "✕": "x", "⩾": "≥", "≧": "≥", "⩽": "≤", "≦": "≤"}
    | {"µ": "μ", "∼": "~", "～": "~", "⁄": "/", "∕": "/", "【": "[", "】": "]", "↵": "ff"}
)
# Left out: quotation marks, dashes (by their category), and the marks of Markdown.
_DROPPED = frozenset("\"'`´*_|#\\«»‹›「」『』《》〈〉¨^~")
# White space, control and format characters, combining marks, dashes, opening and closing quotation marks.
_DROPPED_KINDS = frozenset(("Zs", "Zl", "Zp", "Cc", "Cf", "Mn", "Me", "Pd", "Pi", "Pf"))


class Folded(NamedTuple):
    """Folded text, and for each of its characters the offset of its origin."""

    text: str
    origins: array[int]

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The range of the original text for a range of the folded text that is not empty."""
        return self.origins[start], self.origins[end - 1] + 1

    def folded(self, offset: int) -> int:
        """The first folded position at or after an offset of the original text."""
        return bisect_left(self.origins, offset)


def fold(text: str) -> Folded:
    """Fold a text and remember where each character came from."""
    parts: list[str] = []
    origins = array("L")
    for offset, character in enumerate(text):
        folded = _folded[character]
        if folded:
            parts.append(folded)
            for _ in folded:
                origins.append(offset)
    return Folded("".join(parts), origins)


def units(folded: str) -> int:
    """The weight of a folded text: 1 for each letter or digit, 2 for each Chinese or Japanese character."""
    return sum(2 if is_ideograph(character) else character.isalnum() for character in folded)


def is_ideograph(character: str) -> bool:
    """Whether a character is a word or syllable by itself, as in Chinese and Japanese."""
    return "\u3040" <= character <= "\u30ff" or "\u3400" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff"


class _Characters(dict[str, str]):
    """The folded form of each character, computed on first use."""

    def __missing__(self, character: str) -> str:
        decomposed = unicodedata.normalize("NFKD", character.translate(_ALIKE)).casefold().translate(_ALIKE)
        kept = (
            one
            for one in unicodedata.normalize("NFKD", decomposed)
            if one not in _DROPPED and unicodedata.category(one) not in _DROPPED_KINDS
        )
        folded = self[character] = "".join(kept)
        return folded


_folded = _Characters()
