"""Divides an answer in ``format`` mode into the paragraphs of its source.

In this mode paragraphs may be joined or divided, but letters and digits stay the same. Counting them shows exactly
where each paragraph of the source ends in the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fanfold.apps.proofread.checks.letters import letters
from fanfold.apps.proofread.formats.book import Block, BlockKind

_CLOSING = re.compile(r"[^\w\s“‘「『（《【〈(\[<{]*")


@dataclass(frozen=True)
class Aligned:
    """The text of one paragraph. ``joined``: it continues on the line of the previous paragraph."""

    text: str
    joined: bool = False


def align_by_letters(sources: Sequence[str], answer: str) -> list[Aligned]:
    """The piece of the answer for each source. Raises ValueError unless letters and digits are identical."""
    if letters("".join(sources)) != letters(answer):
        raise ValueError("The letters or digits differ, so that the answer cannot be aligned.")
    pieces: list[Aligned] = []
    at, joined = 0, False
    for source in sources[:-1]:
        end, following, together = _boundary(answer, at, len(letters(source)))
        pieces.append(Aligned(answer[at:end].strip("\n"), joined))
        at, joined = following, together
    return [*pieces, Aligned(answer[at:].strip("\n"), joined)] if sources else []


def placed(blocks: Sequence[Block], pieces: Mapping[str, Aligned]) -> dict[str, str]:
    """The texts of a text file's blocks after aligning: paragraphs by id, without the gap before a joined paragraph."""
    changed: dict[str, str] = {}
    gap = ""
    for block in blocks:
        if block.kind is BlockKind.GAP:
            gap = block.id
        elif block.id in pieces:
            changed[block.id] = pieces[block.id].text
            if pieces[block.id].joined and gap:
                changed[gap] = ""
    return changed


def _boundary(answer: str, at: int, wanted: int) -> tuple[int, int, bool]:
    """The end of a paragraph with this number of letters, the start of the next, and whether they share a line."""
    end = at
    while wanted > 0:
        wanted -= len(letters(answer[end]))
        end += 1
    while end < len(answer) and letters(answer[end]) and not answer[end].isalnum():
        end += 1
    between = re.compile(r"[\W_]*").match(answer, end)
    assert between is not None
    newline = answer.find("\n", end, between.end())
    if newline >= 0:
        return newline, newline + 1, False
    closing = _CLOSING.match(answer, end)
    assert closing is not None
    return closing.end(), closing.end(), True
