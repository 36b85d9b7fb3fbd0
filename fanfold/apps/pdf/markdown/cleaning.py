"""Cleans the characters of a text layer and joins its lines into running text."""

from __future__ import annotations

import re
from functools import lru_cache

from fanfold.apps.pdf.markdown import hyphens

_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\t\r\n\f\v"
_INVISIBLE = "\u00ad\u200b\u200c\u200e\u200f\u2060\ufeff\ufffe\uffff"
_CONTROLS = [chr(code) for code in (*range(32), *range(127, 160)) if chr(code) not in _SPACES]
_CLEAN = str.maketrans({**_LIGATURES, **dict.fromkeys(_SPACES, " "), **dict.fromkeys([*_INVISIBLE, *_CONTROLS], "")})
_NEEDS_CLEANING = re.compile("[" + re.escape("".join([*_LIGATURES, *_SPACES, *_INVISIBLE, *_CONTROLS])) + "↵]|  ")

CJK = "\u2e80-\u303f\u3040-\u30ff\u3100-\u312f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef"
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_CJK = re.compile(f"[{CJK}]")
_CJK_GAPS = re.compile(f"(?<=[{CJK}])[ ]+(?=[{CJK}])")


def characters(text: str) -> str:
    """The same text without ligatures, soft hyphens, control characters and odd spaces."""
    if not _NEEDS_CLEANING.search(text):
        return text
    # TeX fonts without a Unicode map show "ff" as an arrow.
    text = re.sub(r"(?<=[A-Za-z])↵|↵(?=[a-z])", "ff", text)
    return re.sub(r" {2,}", " ", text.translate(_CLEAN))


def is_right_to_left(text: str) -> bool:
    """Whether a text has letters of a script that runs from right to left."""
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def is_cjk(character: str) -> bool:
    """Whether a character belongs to a script without spaces between words."""
    return _CJK.match(character) is not None


def join(before: str, after: str) -> str:
    """Join two lines of a paragraph: hyphenated words are closed up, and Chinese or Japanese text gets no space."""
    if not before or not after:
        return before + after
    if before[-1] in "-‐" and after[0].isalpha():
        return hyphens.join(before, after)
    if before[-1] in "—–" or (before.endswith("/") and "://" in before.rsplit(" ", 1)[-1]):
        return before + after
    if is_cjk(before[-1]) and is_cjk(after[0]):
        return before + after
    return f"{before} {after}"


def close_gaps(text: str) -> str:
    """Remove layout spaces between Chinese or Japanese characters."""
    return _CJK_GAPS.sub("", text) if not text.isascii() and _CJK.search(text) else text


@lru_cache(maxsize=16_384)
def cleaned(text: str) -> str:
    """A text with clean characters and without such spaces. The lines of a page are made a dozen times of the same pieces."""
    return close_gaps(characters(text))
