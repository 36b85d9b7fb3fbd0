"""Writes text as Markdown that means the same: escaped characters, tables, code."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SPECIAL = re.compile(r"([\\`*_\[\]<>])")
_LINE_START = re.compile(r"^(\s*)(#{1,6}(?=\s)|[-+](?=\s)|\d{1,9}(?=[.)]\s)|>)")
_WITHIN_WORD = re.compile(r"(?<=\w)\\_(?=\w)")


def escaped(text: str) -> str:
    """Text in which no character is a mark of Markdown."""
    text = _WITHIN_WORD.sub("_", _SPECIAL.sub(r"\\\1", text))
    found = _LINE_START.match(text)
    if found is None:
        return text
    mark = found[2]
    return f"{found[1]}{mark}\\{text[found.end() :]}" if mark.isdigit() else f"{found[1]}\\{text[len(found[1]) :]}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table whose first row is its head; empty if it has no text. One cell or column is just its text."""
    kept = [list(row) for row in rows if any(cell.strip() for cell in row)]
    width = max((len(row) for row in kept), default=0)
    if width < 2:
        return "\n\n".join(cell for row in kept for cell in row if cell.strip())
    lines = [_row(row + [""] * (width - len(row))) for row in kept]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def _row(cells: Sequence[str]) -> str:
    plain = (re.sub(r"\s*\n\s*", "<br>", cell.strip().replace("  \n", "\n")).replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(plain) + " |"


def code_block(text: str) -> str:
    """Text as fenced code, whatever fences it contains."""
    longest = max((len(found) for found in re.findall(r"^`{3,}", text, re.MULTILINE)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
