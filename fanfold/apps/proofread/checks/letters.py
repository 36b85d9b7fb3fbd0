"""Proves that two texts have the same letters and digits in the same order.

A length ratio misses thirty lost characters in two thousand; this check finds a single one.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

CONTEXT = 12
"""Letters shown on each side of a difference."""

_OTHERS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Difference:
    """The first place where two texts differ: what the source has there, and what the answer has."""

    at: int
    """Number of equal letters and digits before it."""
    before: str
    source: str
    answer: str


def letters(text: str) -> str:
    """The letters, digits and combining marks of a text after NFKC, without everything else."""
    return _OTHERS.sub(_marks, unicodedata.normalize("NFKC", text))


def first_difference(source: str, answer: str) -> Difference | None:
    """Where the letters and digits of two texts first differ; None proves that they are identical."""
    wanted, found = letters(source), letters(answer)
    if wanted == found:
        return None
    at = common_prefix(wanted, found)
    return Difference(at, wanted[max(0, at - CONTEXT) : at], wanted[at : at + CONTEXT], found[at : at + CONTEXT])


def symbols(text: str) -> Counter[str]:
    """The count of each meaningful symbol other than letters and digits, such as a percent or currency sign."""
    return Counter(one for one in text if one in "%‰°§&@#" or unicodedata.category(one) == "Sc")


def _marks(found: re.Match[str]) -> str:
    text = found[0]
    return "" if text.isascii() else "".join(one for one in text if unicodedata.category(one)[0] == "M")


def common_prefix(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
