"""Converts between text and UTF-16 code units: pdfium counts a letter of mathematics or a rare ideograph as two characters."""

from __future__ import annotations

import re

_LARGE = re.compile("[\U00010000-\U0010ffff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_HALF = re.compile("[\ud800-\udfff]")


def split(text: str) -> str:
    """The text with two code units for every character that needs them."""
    return _LARGE.sub(_halves, text) if not text.isascii() else text


def joined(units: str) -> str:
    """The text of code units; a half without its other half is dropped."""
    if not _HALF.search(units):
        return units
    return _HALF.sub("", _PAIR.sub(lambda pair: character(*map(ord, pair[0])), units))


def is_first(code: int) -> bool:
    """Whether a code unit is the first half of a character."""
    return 0xD800 <= code < 0xDC00


def is_second(code: int) -> bool:
    """Whether a code unit is the second half of a character."""
    return 0xDC00 <= code < 0xE000


def character(first: int, second: int) -> str:
    """The character of one code unit, or of two halves; the replacement character for a half alone."""
    if not is_first(first):
        return chr(first)
    return chr(0x10000 + ((first - 0xD800) << 10) + second - 0xDC00) if is_second(second) else "\ufffd"


def _halves(match: re.Match[str]) -> str:
    offset = ord(match[0]) - 0x10000
    return chr(0xD800 + (offset >> 10)) + chr(0xDC00 + (offset & 0x3FF))
