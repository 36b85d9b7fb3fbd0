"""Aligns a quote with a folded text: first exactly, then approximately."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

# Aligning a longer quote with a whole text is slow, so parts of the quote are searched first to narrow the range.
_LONG = 240
_PROBE = 64
_PROBES = 3
# A block of equal characters at the edge of an alignment is a coincidence if it is short and far from the next one.
_STRAY = 3
_MOST_PLACES = 1000
# The alignment has the length of the quote. Where the original is longer, its true edges raise the score.
_REFINING = 12.0

Block = tuple[int, int, int]
"""Equal characters: their position in the quote, their position in the text, and their number."""


class Place(NamedTuple):
    """A range of a folded text, and how well it fits, from 0 to 100."""

    start: int
    end: int
    score: float


def exact_places(quote: str, text: str) -> Iterator[Place]:
    """All places with exactly this text, up to a limit."""
    at = text.find(quote)
    for _ in range(_MOST_PLACES):
        if at < 0:
            return
        yield Place(at, at + len(quote), 100.0)
        at = text.find(quote, at + 1)


def similar_place(quote: str, text: str, start: int, end: int, least: float) -> Place | None:
    """The place between two positions that is most similar to the quote; None below the least score."""
    from rapidfuzz import fuzz

    if end - start < len(quote):
        return _scored(quote, text, start, end, least)
    if len(quote) > _LONG and end - start > 3 * len(quote):
        return _by_probes(quote, text, start, end, least)
    found = fuzz.partial_ratio_alignment(quote, text[start:end], score_cutoff=max(least - _REFINING, 0.0))
    if found is None or found.dest_end <= found.dest_start:
        return None
    place = _refined(quote, text, Place(start + found.dest_start, start + found.dest_end, found.score))
    return place if place.score >= least else None


def interrupted_places(quote: str, text: str, least: int, apart: int) -> tuple[Place, Place] | None:
    """The two places of a quote that something interrupts, such as a footnote at the end of a column.

    Both parts match exactly and have at least ``least`` characters; the second is within ``apart`` characters of the
    first.
    """
    head = _longest(quote, least, lambda length: quote[:length] in text)
    tail = _longest(quote, least, lambda length: quote[-length:] in text)
    if not head or not tail or head + tail < len(quote):
        return None
    cut = min(head, len(quote) - least)
    best: tuple[Place, Place] | None = None
    for first in exact_places(quote[:cut], text):
        for second in exact_places(quote[cut:], text[max(first.start - apart, 0) : first.end + apart]):
            moved = max(first.start - apart, 0)
            second = Place(second.start + moved, second.end + moved, second.score)
            if best is None or abs(second.start - first.end) < abs(best[1].start - best[0].end):
                best = first, second
    return best


def _longest(quote: str, least: int, fits: Callable[[int], bool]) -> int:
    """The largest length that fits; 0 if the minimum does not. A binary search: if a part fits, shorter parts fit too."""
    low, high = least, len(quote) - least
    if high < low or not fits(low):
        return 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _by_probes(quote: str, text: str, start: int, end: int, least: float) -> Place | None:
    """Find some parts of a long quote, then align the whole quote with the text around the best one."""
    from rapidfuzz import fuzz

    step = (len(quote) - _PROBE) // (_PROBES - 1)
    searched = text[start:end]
    best: Place | None = None
    for offset in range(0, step * _PROBES, step):
        found = fuzz.partial_ratio_alignment(quote[offset : offset + _PROBE], searched, score_cutoff=least)
        if found is None:
            continue
        begins, room = start + found.dest_start - offset, len(quote) // 8 + _PROBE
        near = similar_place(quote, text, max(begins - room, start), min(begins + len(quote) + room, end), least)
        if near is not None and (best is None or near.score > best.score):
            best = near
    return best


def _scored(quote: str, text: str, start: int, end: int, least: float) -> Place | None:
    """Compare a quote that is longer than the text as a whole."""
    from rapidfuzz import fuzz

    score = fuzz.ratio(quote, text[start:end], score_cutoff=least)
    return Place(start, end, score) if score >= least and end > start else None


def _refined(quote: str, text: str, place: Place) -> Place:
    """The place with its edges corrected: the best-scoring edges among those of the alignment and of the equal blocks."""
    from rapidfuzz import fuzz
    from rapidfuzz.distance import Indel

    room = 4 + len(quote) // 8
    left, right = max(place.start - room, 0), min(place.end + room, len(text))
    blocks = _without_strays(
        [
            (block.a, block.b, block.size)
            for block in Indel.opcodes(quote, text[left:right]).as_matching_blocks()
            if block.size
        ]
    )
    if not blocks:
        return place
    (before, first, _), (at, last, size) = blocks[0], blocks[-1]
    # Characters of the quote outside the equal blocks are assumed to match the same number of characters in the text.
    starts = {place.start, left + first, left + max(first - before, 0)}
    ends = {place.end, left + last + size, min(left + last + len(quote) - at, right)}
    places = (Place(start, end, fuzz.ratio(quote, text[start:end])) for start in starts for end in ends if start < end)
    best = max(places, key=lambda one: (one.score, one.start - one.end))
    return best._replace(score=max(best.score, place.score))


def _without_strays(blocks: list[Block]) -> list[Block]:
    """The equal blocks, without small edge blocks whose gap to the next block is larger in the text than in the quote."""
    while len(blocks) > 1 and _is_stray(blocks[0], blocks[1], blocks[0][2]):
        del blocks[0]
    while len(blocks) > 1 and _is_stray(blocks[-2], blocks[-1], blocks[-1][2]):
        del blocks[-1]
    return blocks


def _is_stray(one: Block, following: Block, size: int) -> bool:
    return size < _STRAY and (following[1] - one[1]) - (following[0] - one[0]) >= size
