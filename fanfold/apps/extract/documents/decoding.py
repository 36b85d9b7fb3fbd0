"""Decodes text files: by their byte order mark, as UTF-8, as GB18030, or by the most likely encoding."""

from __future__ import annotations

import codecs
import re
from functools import cache
from typing import NamedTuple

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OTHER = re.compile("[^\x00-\x7f]")
# GB18030 decodes nearly any bytes. Chinese text has mostly common characters (the first level of GB 2312) and its own
# punctuation; text in other encodings has rare characters when it is read as GB18030.
_LEAST_COMMON = 0.9


class Decoded(NamedTuple):
    """The text, and the number of characters replaced because their bytes are invalid."""

    text: str
    replaced: int = 0


def decode(content: bytes, declared: str | None = None) -> Decoded:
    """Decode a text. ``declared`` is the encoding that the file itself names; it is used if it fits all bytes."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _replacing(content[len(mark) :], encoding)
    text = _strict(content, "utf-8")
    if text is None and declared:
        text = _strict(content, declared)
    if text is None:
        text = _as_chinese(content)
    return Decoded(text) if text is not None else _likely(content)


def _strict(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _as_chinese(content: bytes) -> str | None:
    text = _strict(content, "gb18030")
    if text is None:
        return None
    return text if _is_chinese(text, 0) else None


def _is_chinese(text: str, replaced: int) -> bool:
    """Whether nearly all characters beyond ASCII are common in Chinese, apart from those that were replaced."""
    others = _OTHER.findall(text)
    common = _common()
    return sum(character in common for character in others) >= _LEAST_COMMON * (len(others) - replaced)


@cache
def _common() -> frozenset[str]:
    first_level = bytes(byte for row in range(0xB0, 0xD8) for cell in range(0xA1, 0xFF) for byte in (row, cell))
    punctuation = "，。、；：？！“”‘’（）《》〈〉【】「」『』—…·～％＋－＝＜＞／　℃°±×÷≥≤μαβγδχσ①②③④⑤⑥⑦⑧⑨⑩"
    wide = (chr(code) for code in range(0xFF01, 0xFF5F))
    return frozenset((*first_level.decode("gb2312", "ignore"), *punctuation, *wide))


def _likely(content: bytes) -> Decoded:
    """The most likely encoding. UTF-8 or GB18030 with a few damaged bytes is still recognised."""
    for encoding in ("utf-8", "gb18030"):
        damaged = _replacing(content, encoding)
        likely = encoding == "utf-8" or _is_chinese(damaged.text, damaged.replaced)
        if likely and damaged.replaced * 10 < len(_OTHER.findall(damaged.text)):
            return damaged
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return _replacing(content, "cp1252")
    best = from_bytes(content).best()
    return Decoded(str(best)) if best is not None else _replacing(content, "utf-8")


def _replacing(content: bytes, encoding: str) -> Decoded:
    text = content.decode(encoding, "replace")
    return Decoded(text, text.count("\ufffd"))
