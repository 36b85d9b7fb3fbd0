"""Writes lines of code with the indentation and the blank lines that they have on the page."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from fanfold.apps.pdf.markdown.layout import Line

# Code is typed on a keyboard, so its quotes and minus signs are the ASCII ones.
_TYPED = str.maketrans("‘’“”−‐‑–", "''\"\"----")


def code_lines(lines: Iterable[Line]) -> list[str]:
    """Lines of code with their indentation and blank lines."""
    known = list(lines)
    width = median([(line.x1 - line.x0) / max(len(line.text), 1) for line in known]) or 1.0
    height = median([line.y1 - line.y0 for line in known]) or 1.0
    left = min(line.x0 for line in known)
    rendered: list[str] = []
    bottom = known[0].y0
    for line in known:
        if rendered and line.y0 - bottom > height:
            rendered.append("")
        rendered.append(" " * round((line.x0 - left) / width) + line.text.translate(_TYPED))
        bottom = line.y1
    return rendered
