"""Formats values for people, and removes characters that files and programs cannot hold."""

from __future__ import annotations

import json
import re
from typing import Any

# XML does not allow these characters, and no program shows them.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_FORMULA = re.compile(r"[=+\-@\t\r＝＋－＠]")
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def written(value: Any) -> str:
    """A value as text: lists with semicolons, objects as JSON, nothing as an empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "; ".join(written(one) for one in value)
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return clean(str(value))


def clean(text: str) -> str:
    """The text without control characters and unpaired surrogates."""
    return _ILLEGAL.sub("", text)


def harmless(text: str) -> str:
    """The text escaped for CSV, so that no spreadsheet runs it as a formula. Negative numbers stay numbers."""
    if _FORMULA.match(text) and not _PLAIN_NUMBER.fullmatch(text):
        return f"'{text}"
    return text
