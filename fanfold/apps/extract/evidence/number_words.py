"""Reads numbers written as words in English and Chinese, if they are unambiguous."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety"
)
_VALUES = {word: at if at < 20 else 10 * (at - 18) for at, word in enumerate(_WORDS.split(" "))}
_WORD = "|".join(sorted(_VALUES, key=len, reverse=True))
_ENGLISH = re.compile(
    rf"\b(?:(?P<hundreds>{_WORD}|a)[\s-]+hundred(?:\s+and)?[\s-]*)?(?P<rest>(?:{_WORD})(?:[\s-]+(?:{_WORD}))?)?\b",
    re.IGNORECASE,
)
_DIGITS = {character: number for number, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_CHINESE = re.compile("[零〇一二三四五六七八九两十百千万亿]+")
# 一 alone is part of many words; it is a number only before one of these characters.
_COUNTED = "名例个人位组次项岁天周月年只头条份家所株台倍"


def worded(text: str) -> Iterator[int]:
    """The unambiguous numbers."""
    for match in _ENGLISH.finditer(text):
        number = _english(match)
        if number is not None:
            yield number
    for match in _CHINESE.finditer(text):
        counts = text[match.end() : match.end() + 1] in _COUNTED and match.end() < len(text)
        if len(match[0]) > 1 or counts:
            number = _chinese(match[0])
            if number is not None:
                yield number


def _english(match: re.Match[str]) -> int | None:
    rest = re.split(r"[\s-]+", (match["rest"] or "").lower().strip())
    values = [_VALUES[word] for word in rest if word]
    if len(values) == 2 and not (values[0] >= 20 and 0 < values[1] < 10):
        return None
    if match["hundreds"]:
        return 100 * _VALUES.get(match["hundreds"].lower(), 1) + sum(values)
    # "one" alone is a pronoun more often than a number.
    return sum(values) if values and values != [1] else None


def _chinese(text: str) -> int | None:
    if all(character in _DIGITS for character in text):
        # 二〇一九 is written digit by digit.
        return int("".join(str(_DIGITS[character]) for character in text))
    total = section = digit = 0
    for character in text:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _PLACES:
            section += (digit or 1) * _PLACES[character]
            digit = 0
        else:
            section += digit
            if not section and not total:
                return None
            total = (total + section) * (10_000 if character == "万" else 100_000_000)
            section = digit = 0
    return total + section + digit
