"""Checks of ``format`` mode beside the letters: words are not joined, and punctuation is neither removed nor piled up."""

from __future__ import annotations

import re
from collections import Counter

from fanfold.apps.proofread.scripts import CJK

FEW_WORDS = 4
LEAST_MEAN = 2.5
"""Mean length of words below which blanks between letters are taken for a mistake that may be corrected: `r a i n`."""
MOST_JOINED = 0.3
"""Largest share of its words that an answer may join with others."""
GROWTH = 1.5
"""Factor by which a paragraph may grow."""
FEW_CHARACTERS = 20

_WORD = re.compile(rf"[^\W\d_{CJK}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")
_MARKS = re.compile(r"[^\w\s]+(?:\s+[^\w\s]+)*")


_EMPHASIS = re.compile(r"(?<!\\)\*+|~~|(?<![\w\\_])_+(?=\S)|(?<=\S)_+(?!\w)")


def emphasis(text: str) -> Counter[str]:
    """The marks of emphasis in a Markdown text, with how often each occurs."""
    return Counter(_EMPHASIS.findall(text))


def joins_words(source: str, answer: str) -> str:
    """The first word of an answer that is several words of its source without the blanks; empty if there is none."""
    before, after = _WORD.findall(source), _WORD.findall(answer)
    if len(before) < FEW_WORDS or len(after) >= (1 - MOST_JOINED) * len(before):
        return ""
    if sum(map(len, before)) < LEAST_MEAN * len(before):
        return ""
    known = set(before)
    return next((word for word in after if word not in known), "")


def loses_punctuation(source: str, answer: str) -> bool:
    """Whether most of the punctuation is gone; neighbouring marks count once."""
    before, after = len(_MARKS.findall(source)), len(_MARKS.findall(answer))
    return before >= 2 and after * 3 < before


def grows(source: str, answer: str) -> bool:
    """Whether an answer is far longer than its source, although it has the same letters."""
    return len(answer) > GROWTH * len(source) + FEW_CHARACTERS
