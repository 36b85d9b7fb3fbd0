"""Finds labels that stand before the paragraphs of a run of lines: speakers, articles, questions, numbers of paragraphs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from fanfold.apps.pdf.markdown.lines import Line

# In multiples of the type size: white space behind a label. Texts behind labels begin within this many points.
_APART = 0.6
_ALIGNED = 2.0
_LONGEST = 30
_LEAST_LINES = 3
_ENDS_SENTENCE = re.compile(r"[.!?:;。！？：；…][\"'”’)\]」』）]*$")


def are_before(run: Sequence[Line], left: float, indent: float) -> bool:
    """Whether all lines at the left edge begin with a label, and have their text where the other lines begin."""
    edge = [line for line in run if line.x0 <= left + indent * line.size]
    gaps = [_text_start(line) for line in edge]
    if any(gap is None for gap in gaps) or len(run) < _LEAST_LINES or len(edge) < 2:
        return False
    inner = [line.x0 for line in run if line.x0 > left + indent * line.size]
    # Single lines may be entries of a table of contents or of a listing.
    if not inner and 2 * sum(_ENDS_SENTENCE.search(line.text) is not None for line in run) < len(run):
        return False
    starts = [*inner, *(gap for gap in gaps if gap is not None)]
    return max(starts) - min(starts) < _ALIGNED


def _text_start(line: Line) -> float | None:
    """Where the text of a line begins after a label with white space behind it; None if it has none."""
    length = 0
    for before, piece in itertools.pairwise(line.pieces):
        length += len(before.text)
        if piece.x0 - before.x1 > _APART * line.size:
            return piece.x0 if length <= _LONGEST else None
    return None
