"""Finds footnotes: small lines at the foot of a column that begin with a mark which is raised somewhere in the text above.

Their text follows the page's text, as `[^1]: …`, and their marks become `[^1]`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from fanfold.apps.pdf.markdown.blocks import Block
from fanfold.apps.pdf.markdown.layout import Line
from fanfold.apps.pdf.markdown.pieces import SUP

# Notes are set in type at most this large, in multiples of the size of the text.
_SMALLER = 0.95
_MARK = re.compile(r"(\d{1,3}|[a-z](?=\s)|\*{1,3}|∗{1,3}|†{1,2}|‡{1,2}|§|¶|#)(?:[.)])?\s*(?=\S)")
_LABEL = re.compile(r"\d{1,3}|[a-z]|\*{1,3}|∗{1,3}|†{1,2}|‡{1,2}|§|¶|#")
_APART = re.compile(r"[,;\s]+")


def marks(lines: Iterable[Line]) -> set[str]:
    """The raised marks of these lines."""
    return {
        label
        for line in lines
        for piece in line.pieces
        if piece.flags
        for text in _raised(piece.text, piece.flags, is_first=piece is line.pieces[0])
        for label in labels(text)
    }


def labels(text: str) -> list[str]:
    """The marks in a raised text such as "1" or "1,2"; none if it is anything else."""
    found = [part for part in _APART.split(text.strip()) if part]
    return found if all(_LABEL.fullmatch(part) for part in found) else []


def _raised(text: str, flags: Sequence[int], *, is_first: bool) -> Iterable[str]:
    start = 0
    for is_raised, group in itertools.groupby(flags, key=lambda flag: bool(flag & SUP)):
        size = len(list(group))
        # A mark at the start of a line is that of a note, not a reference to one.
        if is_raised and (start or not is_first):
            yield text[start : start + size]
        start += size


def take(columns: Sequence[list[Line]], body: float) -> tuple[list[list[Line]], list[Block]]:
    """The columns without their notes, and the notes."""
    known = marks(line for column in columns for line in column)
    if not known or not body:
        return list(columns), []
    kept: list[list[Line]] = []
    notes: list[Block] = []
    for column in columns:
        start = _start(column, known, body)
        kept.append(column[:start])
        for line in column[start:]:
            mark = _mark(line)
            if (mark in known and _is_set_as_note(line)) or not notes:
                notes.append(Block("note", [line], marker=mark))
            else:
                notes[-1].lines.append(line)
    return [column for column in kept if column], notes


def _start(column: list[Line], known: set[str], body: float) -> int:
    """Where the notes of a column begin: its length if it has none."""
    first = len(column)
    for index in range(len(column) - 1, -1, -1):
        line = column[index]
        if line.table is not None or line.size > _SMALLER * body:
            break
        if _mark(line) in known and _is_set_as_note(line):
            first = index
    return first


def _mark(line: Line) -> str:
    match = _MARK.match(line.text)
    return match[1] if match else ""


def _is_set_as_note(line: Line) -> bool:
    """Whether a line begins with a raised mark, or with a number set apart from the text."""
    first = line.pieces[0]
    if first.flags and first.flags[0] & SUP:
        return True
    return len(line.pieces) > 1 and _LABEL.fullmatch(first.text) is not None and first.size < 0.9 * line.pieces[1].size
