"""Compares the letters and digits of a page before and after it was read, so that lost text never goes unnoticed."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from fanfold.apps.pdf.sentences import say_of_pdf

LEAST_KEPT = 0.97
"""A page that keeps less than this share of its letters and digits is degraded."""


def letters(text: str) -> Counter[str]:
    """How often each letter and digit occurs; accents, ligatures and forms of a letter do not count."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    counted = Counter(text.casefold())
    return Counter({letter: count for letter, count in counted.items() if letter.isalnum()})


def share_kept(wanted: Counter[str], texts: Iterable[str]) -> float:
    """How much of the wanted letters and digits the texts have, together; 1 where nothing is wanted."""
    total = wanted.total()
    if not total:
        return 1.0
    return (wanted & letters("\n".join(texts))).total() / total


def reason(share: float) -> str:
    """What is said of a page that lost text."""
    # Rounded down: 96.9 % must not be called 97 %.
    return say_of_pdf("letters_lost", percent=int(share * 100))
