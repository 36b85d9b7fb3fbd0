"""Rules about white space: stray characters, trailing blanks, indentation, headings, separators and gaps."""

from __future__ import annotations

import re

from fanfold.apps.proofread.formats.paragraphs import NEWLINE, STRAY
from fanfold.apps.proofread.rules.rule import AnyRule, GapRule, Rule, Setting

INDENT = "\u3000\u3000"
BLANKS = " \t\u00a0\u3000"

_TRAILING = re.compile(f"[{BLANKS}]+(?=\n|\\Z)")
_EQUALS = re.compile("[=＝]{3,}")


def _stray(line: str, setting: Setting) -> str:
    return STRAY.sub("", line)


def _trailing(line: str, setting: Setting) -> str:
    return _TRAILING.sub("", line)


def _separators(line: str, setting: Setting) -> str:
    return "" if _EQUALS.fullmatch(line.strip(BLANKS)) else line


def _heads(line: str, setting: Setting) -> str:
    return line.lstrip(BLANKS) if setting.head else line


def _indentation(line: str, setting: Setting) -> str:
    bare = line.lstrip(BLANKS)
    if setting.head or not bare or not (setting.is_chinese(bare) or (setting.chinese and bare[0] in "—…")):
        return line
    return INDENT + bare


def _line_ends(gap: str, newline: str) -> str:
    return NEWLINE.sub(newline, gap)


def _blank_lines(gap: str, newline: str) -> str:
    """At most one blank line, without spaces in it. White space before the next paragraph belongs to that paragraph."""
    found = NEWLINE.findall(gap)
    if not found:
        return gap
    return newline * min(len(found), 2)


RULES: tuple[AnyRule, ...] = (
    GapRule(
        "line_ends", "One kind of newline in the whole file.", "一。\r\n二。\r三。", "一。\r\n二。\r\n三。", _line_ends
    ),
    Rule(
        "stray_characters", "No control characters or byte order marks inside the text.", "雨\ufeff夜", "雨夜", _stray
    ),
    Rule("trailing_blanks", "No blanks at the end of a line.", "雨停了。  ", "雨停了。", _trailing),
    Rule("separator_lines", "No lines of equals signs.", "====", "", _separators),
    GapRule("blank_lines", "At most one blank line in a row.", "一。\n\n \n\n二。", "一。\n\n二。", _blank_lines),
    Rule("heads", "Heads of chapters begin at the margin.", "  第一章 雨夜", "第一章 雨夜", _heads),
    Rule(
        "indentation", "Paragraphs with Chinese begin with two wide blanks.", "  雨停了。", "　　雨停了。", _indentation
    ),
)
