"""Writes text as Markdown that means the same: escaped characters, tables, code."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SPECIAL = re.compile(r"([\\`*_\[\]<>])")
_LINE_START = re.compile(r"^(\s*)(#{1,6}(?=\s)|[-+](?=\s)|\d{1,9}(?=[.)]\s)|>)")
_ENTRY = re.compile(r"\s*(?:-|\d{1,9}\.) ")
_FENCE = re.compile(r"\s*(`{3,})")
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


def compact(text: str) -> str:
    """Entries of a list follow each other without an empty line, and there is never more than one, except in code."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence or found:
            lines.append(line)
            fence = "" if fence and line.strip() == fence else fence or (found[1] if found else "")
            continue
        is_entry = _ENTRY.match(line) is not None
        before = lines[-2] if len(lines) > 1 and not lines[-1] else ""
        if is_entry and _ENTRY.match(before):
            lines.pop()
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip()
