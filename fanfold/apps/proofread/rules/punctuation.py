"""Rules about punctuation: ellipses, dashes, width, blanks beside punctuation, quotes, and the space beside Latin words."""

from __future__ import annotations

import re

from fanfold.apps.proofread.rules.rule import AnyRule, Rule, Setting
from fanfold.apps.proofread.scripts import CJK

_WIDE = str.maketrans(",.!?;:()", "，。！？；：（）")
_BLANK = "[ \t\u00a0\u3000]"

_ELLIPSIS = re.compile(r"…+(?:[.…。]+)?|\.{3,}…*|。{3,}…*|．{3,}")
_DASH = re.compile(
    r"(?:(?<![-\w!<])-{2,}(?![-\w>])|(?<=[^\x00-\x7f])-{2,}(?![->])|(?<![->])-{2,}(?=[^\x00-\x7f])|[—―]|─{2,})+"
)
_BLANK_BEFORE = re.compile(f"(?<=[{CJK}]){_BLANK}+(?=[,.!?;:，。！？；：、])")
_BLANK_AFTER = re.compile(f"(?<=[,.!?;:，。！？；：、]){_BLANK}+(?=[{CJK}])")
_LISTED = re.compile(r"\s*(?:[0-9]{1,3}|[A-Za-z])[.:]" + _BLANK)
# Numbers are not changed: the character before the mark must be a letter. A full stop before a Latin letter or digit
# may be part of a name, so it stays.
_AFTER_CJK = re.compile(f"(?<=[{CJK}])(?:[,!?;:]|\\.(?![.A-Za-z0-9]))")
_COMMA_BEFORE_CJK = re.compile(f"(?<![0-9,])(?<!^),(?=[{CJK}])")
_BRACKETS = re.compile(f"(?<=[{CJK}])[()]|[()](?=[{CJK}])")
_AFTER_CLOSED = re.compile(r"(?<=[”’」』）】》〉])[,!?;:]|(?<=[”’」』）】》〉])\.(?![.A-Za-z0-9])")
_CJK_LATIN = re.compile(f"(?<=[{CJK}])(?=[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?=[{CJK}])")


def _ellipses(line: str, setting: Setting) -> str:
    return _ELLIPSIS.sub("……", line) if setting.is_chinese(line) else line


def _dashes(line: str, setting: Setting) -> str:
    if setting.is_chinese(line):
        return _DASH.sub("——", line)
    return "——" if setting.chinese and re.fullmatch(r"\s*-{3,}\s*", line) else line


def _blanks(line: str, setting: Setting) -> str:
    if not setting.is_chinese(line):
        return line
    line = _BLANK_BEFORE.sub("", line)
    listed = _LISTED.match(line)
    start = listed.end() if listed else 0
    return line[:start] + _BLANK_AFTER.sub("", line[start:])


def _width(line: str, setting: Setting) -> str:
    if not setting.is_chinese(line):
        return line
    for pattern in (_AFTER_CJK, _COMMA_BEFORE_CJK, _BRACKETS):
        line = pattern.sub(lambda found: found[0].translate(_WIDE), line)
    return line


def _closed(line: str, setting: Setting) -> str:
    return _AFTER_CLOSED.sub(lambda found: found[0].translate(_WIDE), line) if setting.is_chinese(line) else line


def _quotes(line: str, setting: Setting) -> str:
    """Straight double quotes become curly pairs, only if the line has an even number of them and no curly quotes."""
    count = line.count('"')
    if not setting.is_chinese(line) or count == 0 or count % 2 or "“" in line or "”" in line:
        return line
    pieces = line.split('"')
    return "".join(piece + ("" if at == count else "“”"[at % 2]) for at, piece in enumerate(pieces))


def _spacing(line: str, setting: Setting) -> str:
    return _CJK_LATIN.sub(" ", line)


RULES: tuple[AnyRule, ...] = (
    Rule("ellipses", "Ellipses are two wide characters.", "雨...", "雨……", _ellipses),
    Rule("dashes", "Dashes are two wide characters.", "低声道--走", "低声道——走", _dashes),
    Rule("punctuation_blanks", "No blanks between Chinese and punctuation.", "雨 ,  停了", "雨,停了", _blanks),
    Rule(
        "punctuation_width",
        "Punctuation beside Chinese is wide; numbers keep theirs.",
        "雨,停了.",
        "雨，停了。",
        _width,
    ),
    Rule(
        "closing_punctuation",
        "Punctuation after a closing quote or bracket is wide.",
        "“规矩”.",
        "“规矩”。",
        _closed,
        on=False,
    ),
    Rule("quotes", "Straight quotes become pairs.", '他说："走。"', "他说：“走。”", _quotes, on=False),
    Rule(
        "latin_spacing", "One blank between Chinese and Latin words or numbers.", "第3号", "第 3 号", _spacing, on=False
    ),
)
