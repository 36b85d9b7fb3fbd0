"""Divides text and Markdown into lines that a model can count and a person can find."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fanfold.apps.extract.documents.document import NewLine

LONGEST = 300
"""Longer lines, such as whole paragraphs, are divided at the end of a sentence or between words."""
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_UNDERLINE = re.compile(r" {0,3}(?:={3,}|-{3,})\s*$")
_SENTENCE_END = re.compile(r"[.!?;][\"'”’)\]]*\s|[。！？；]")
# White space and control characters that are not displayed; tabs stay.
_INVISIBLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\u2060\ufeff]")
_SHORTEST_SHARE = 0.4


def plain_lines(text: str) -> Iterator[NewLine]:
    """The lines of a text."""
    for line in text.splitlines():
        yield from divided(line)


def markdown_lines(text: str) -> Iterator[NewLine]:
    """The lines of Markdown as written; headings are marked, but not lines of code that look like headings."""
    lines = text.splitlines()
    fenced = False
    for at, line in enumerate(lines):
        if _FENCE.match(line):
            fenced = not fenced
        below = lines[at + 1] if at + 1 < len(lines) else ""
        heading = bool(_HEADING.match(line)) or (bool(line.strip()) and bool(_UNDERLINE.match(below)))
        yield from divided(line, heading=heading and not fenced)


def divided(text: str, *, page: int | None = None, heading: bool = False) -> Iterator[NewLine]:
    """A line in parts that are not too long."""
    text = _INVISIBLE.sub("", text.replace("\x0b", " ").replace("\x0c", " ")).rstrip()
    while len(text) > LONGEST:
        cut = _cut(text)
        yield NewLine(text[:cut].rstrip(), page, heading)
        text = text[cut:].lstrip()
    yield NewLine(text, page, heading)


def _cut(text: str) -> int:
    """The last end of a sentence, or the last space, before the limit."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, LONGEST)]
    if ends and ends[-1] > _SHORTEST_SHARE * LONGEST:
        return ends[-1]
    space = text.rfind(" ", 0, LONGEST)
    return space if space > _SHORTEST_SHARE * LONGEST else LONGEST
