"""Compares the letters and digits of a page before and after conversion, so that lost text never goes unnoticed."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from fanfold.apps.pdf.sentences import say_of_pdf

MOST_LOST = 2
"""Most letters and digits a page may lose without being degraded: a stray page number."""


def letters(text: str) -> Counter[str]:
    """Counts of letters and digits, ignoring accents, ligatures and letter forms."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
    counted = Counter(text.casefold())
    return Counter({letter: count for letter, count in counted.items() if letter.isalnum()})


def share_kept(wanted: Counter[str], texts: Iterable[str]) -> float:
    """Share of the wanted letters and digits that the texts contain together; 1 if none are wanted."""
    total = wanted.total()
    if not total:
        return 1.0
    return (wanted & letters("\n".join(texts))).total() / total


def reason(lost: int) -> str:
    """Message for a page that lost this many letters and digits."""
    return say_of_pdf("letters_lost", count=lost)
