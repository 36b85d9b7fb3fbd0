"""Finds the numbers of a text with their signs and units, in digits and in Chinese numerals."""

from __future__ import annotations

import re
import unicodedata

_NUMBER = re.compile(
    r"(?:[$€£¥₩₽₹]\s?)?(?:(?<![\w)\].-])-(?=\d))?\d+(?:[.,:]\d+)*(?:\s?[%‰°])?"
    # One numeral alone may be part of a word, such as 一 in 一起.
    r"|[零〇一二三四五六七八九十百千万萬亿億两兩]{2,}"
)
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
FEW_DIGITS = 3
"""Shorter numbers are often written in words in another language."""


def numbers_of(text: str) -> list[str]:
    """The numbers in their order. Width, blanks and the form of a minus sign do not count."""
    plain = unicodedata.normalize("NFKC", text).replace("−", "-")
    return ["".join(found.split()) for found in _NUMBER.findall(plain)]


def long_numbers_of(text: str) -> set[str]:
    """The numbers with at least three digits, without separators."""
    found = (re.sub(r"\D", "", one) for one in _DIGITS.findall(unicodedata.normalize("NFKC", text)))
    return {one for one in found if len(one) >= FEW_DIGITS}
