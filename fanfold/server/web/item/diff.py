"""Compares two texts line by line, and changed lines word by word; long unchanged stretches are folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rapidfuzz.distance import Indel

MOST_CHARACTERS = 1_000_000
"""Longest texts compared."""
MOST_PRODUCT = 25_000_000
"""Largest product of both lengths for one comparison: about 3 MB and some tens of milliseconds."""
WORD_COST = 5_000
"""Extra cost of one word, in the same unit."""
MOST_COST = 1_000_000_000
"""Total cost of word comparisons, a second or less; the rest is compared by whole lines."""
AROUND_LINES = 3
ALIKE = 0.3
"""Changed lines that share less than this are shown as removed and added instead of word by word."""
WORD = re.compile(r"[⺀-鿿가-힯぀-ヿ豈-﫿]|[^\W_]+|\s+|.", re.DOTALL)
"""A word, or a character in scripts without spaces between words."""
SAME, ADDED, REMOVED, FOLDED = "same", "added", "removed", "folded"


@dataclass(frozen=True)
class DiffPiece:
    """A stretch of text: kept, added, removed, or kept and folded."""

    kind: str
    text: str

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.count("\n") + (not self.text.endswith("\n"))


@dataclass(frozen=True)
class WordDiff:
    """The pieces in order, and the numbers of words added and removed."""

    pieces: tuple[DiffPiece, ...]
    added: int
    removed: int

    def __bool__(self) -> bool:
        return any(piece.kind in (ADDED, REMOVED) for piece in self.pieces)


class ComparisonBudget:
    """Remaining budget for word comparisons of two texts."""

    def __init__(self) -> None:
        self.left = MOST_COST

    def pays(self, old: int, new: int) -> bool:
        """Spend the cost of comparing these numbers of words; False if the budget does not allow it."""
        cost = old * new + WORD_COST * (old + new)
        if old * new > MOST_PRODUCT or cost > self.left:
            return False
        self.left -= cost
        return True


def changes(before: str, after: str) -> WordDiff | None:
    """Changes from one text to the other; None if they are too long to compare."""
    if max(len(before), len(after)) > MOST_CHARACTERS:
        return None
    pieces = tuple(_joined(_folded(_joined(_compared(before, after)))))
    added, removed = (
        sum(len(_words(piece.text)) for piece in pieces if piece.kind == kind) for kind in (ADDED, REMOVED)
    )
    return WordDiff(pieces, added, removed)


def _compared(before: str, after: str) -> Iterator[DiffPiece]:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    budget = ComparisonBudget()
    for same, old_part, new_part in _blocks(old, new):
        if same:
            yield DiffPiece(SAME, "".join(old_part))
        else:
            yield from _by_word("".join(old_part), "".join(new_part), budget)


def _by_word(before: str, after: str, budget: ComparisonBudget) -> Iterator[DiffPiece]:
    old, new = WORD.findall(before), WORD.findall(after)
    if old and new and budget.pays(len(old), len(new)) and _alike(before, after):
        for same, old_part, new_part in _calmed(_blocks(old, new)):
            yield from _told(same, old_part, new_part)
    else:
        yield from _told(False, before, after)


def _calmed(blocks: Iterable[tuple[bool, Sequence[str], Sequence[str]]]) -> Iterator[tuple[bool, str, str]]:
    """The blocks as text; spaces and punctuation between two changes join them."""
    held: tuple[str, str] | None = None
    between = ""
    for same, old, new in blocks:
        was, now = "".join(old), "".join(new)
        if same and held is not None and not _words(was) and not between:
            between = was
        elif same:
            if held is not None:
                yield False, *held
            yield from ((True, text, text) for text in (between + was,) if text)
            held, between = None, ""
        else:
            held = (was, now) if held is None else (held[0] + between + was, held[1] + between + now)
            between = ""
    if held is not None:
        yield False, *held
    if between:
        yield True, between, between


def _alike(before: str, after: str) -> bool:
    old, new = _words(before), _words(after)
    return not old or not new or Indel.normalized_similarity(old, new) >= ALIKE


def _told(same: bool, before: str, after: str) -> Iterator[DiffPiece]:
    if same:
        yield DiffPiece(SAME, before)
        return
    if before:
        yield DiffPiece(REMOVED, before)
    if after:
        yield DiffPiece(ADDED, after)


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, Sequence[str], Sequence[str]]]:
    """(same, before, after) in order; adjacent changes form one block."""
    start, old_end, new_end = _common(old, new)
    if start:
        yield True, old[:start], new[:start]
    yield from _inner_blocks(old[start:old_end], new[start:new_end])
    if old_end < len(old):
        yield True, old[old_end:], new[new_end:]


def _inner_blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[bool, Sequence[str], Sequence[str]]]:
    if len(old) * len(new) > MOST_PRODUCT or not old or not new:
        if old or new:
            yield False, old, new
        return
    found = Indel.opcodes(list(old), list(new))
    for same, run in groupby(found, key=lambda code: code.tag == "equal"):
        codes = list(run)
        first, last = codes[0], codes[-1]
        yield same, old[first.src_start : last.src_end], new[first.dest_start : last.dest_end]


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int, int]:
    """Length of the common prefix, and the start of the common suffix in both."""
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return start, len(old) - end, len(new) - end


def _joined(pieces: Iterator[DiffPiece]) -> Iterator[DiffPiece]:
    """Merge neighbouring pieces of the same kind."""
    for kind, run in groupby(pieces, key=lambda piece: piece.kind):
        text = "".join(piece.text for piece in run)
        if text:
            yield DiffPiece(kind, text)


def _folded(pieces: Iterator[DiffPiece]) -> Iterator[DiffPiece]:
    """Fold long unchanged stretches, except the lines next to a change."""
    known = list(pieces)
    for at, piece in enumerate(known):
        if piece.kind != SAME:
            yield piece
            continue
        lines = piece.text.splitlines(keepends=True)
        head = 0 if at == 0 else AROUND_LINES
        tail = 0 if at == len(known) - 1 else AROUND_LINES
        if len(lines) <= head + tail + AROUND_LINES:
            yield piece
            continue
        end = len(lines) - tail
        yield DiffPiece(SAME, "".join(lines[:head]))
        yield DiffPiece(FOLDED, "".join(lines[head:end]))
        yield DiffPiece(SAME, "".join(lines[end:]))


def _words(text: str) -> list[str]:
    return [word for word in WORD.findall(text) if not word.isspace()]
