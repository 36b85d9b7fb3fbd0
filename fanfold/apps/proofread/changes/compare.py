"""Compares two versions of a paragraph: by characters in scripts without spaces between words, otherwise by words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from fanfold.apps.proofread.changes.change import Span
from fanfold.apps.proofread.checks.letters import common_prefix
from fanfold.apps.proofread.formats.book import Brackets
from fanfold.apps.proofread.markers import marker_pattern
from fanfold.apps.proofread.scripts import CJK, mostly_cjk

NEAR = 3
"""Changes closer together than this many characters are one change."""
LARGEST = 400_000_000
"""Largest product of lengths for a full comparison. Above it, only the common beginning and end are kept, to save memory."""
SAMPLE = 200
"""Number of characters used to detect the script of a paragraph."""

_WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+(?:['’][^\W{CJK}]+)*|\s+|[^\w\s]")


def compare(source: str, answer: str, brackets: Brackets | None = None) -> list[Span]:
    """The differences in order; nearby ones are merged. Applying all of them to the source gives the answer."""
    return join_near(source, differences(source, answer, brackets))


def differences(source: str, answer: str, brackets: Brackets | None = None) -> list[Span]:
    """Every single difference, in order."""
    if source == answer:
        return []
    by_characters = mostly_cjk(source[:SAMPLE]) or mostly_cjk(answer[:SAMPLE])
    old, new = _units(source, by_characters, brackets), _units(answer, by_characters, brackets)
    if len(old) * len(new) > LARGEST:
        return _middle(source, answer)
    starts = _offsets(old)
    spans = []
    for step in Levenshtein.opcodes(old, new):
        if step.tag != "equal":
            inserted = "".join(new[step.dest_start : step.dest_end])
            spans.append(Span(starts[step.src_start], starts[step.src_end], inserted))
    return spans


def apply_spans(source: str, spans: Sequence[Span]) -> str:
    """The source with these differences, which must be in order and must not overlap."""
    pieces, at = [], 0
    for span in spans:
        pieces += [source[at : span.start], span.after]
        at = span.end
    return "".join([*pieces, source[at:]])


def _units(text: str, by_characters: bool, brackets: Brackets | None) -> Sequence[str]:
    if brackets is None or brackets.left not in text:
        return text if by_characters else _WORD.findall(text)
    units: list[str] = []
    at = 0
    for found in marker_pattern(brackets).finditer(text):
        units += [*_units(text[at : found.start()], by_characters, None), found[0]]
        at = found.end()
    return [*units, *_units(text[at:], by_characters, None)]


def _offsets(units: Sequence[str]) -> Sequence[int]:
    if isinstance(units, str):
        return range(len(units) + 1)
    offsets = [0]
    for unit in units:
        offsets.append(offsets[-1] + len(unit))
    return offsets


def join_near(source: str, spans: Sequence[Span]) -> list[Span]:
    """Merge differences with fewer than three characters between them."""
    joined: list[Span] = []
    for span in spans:
        if joined and span.start - joined[-1].end < NEAR:
            last = joined[-1]
            between = source[last.end : span.start]
            joined[-1] = Span(last.start, span.end, last.after + between + span.after)
        else:
            joined.append(span)
    return joined


def _middle(source: str, answer: str) -> list[Span]:
    start = common_prefix(source, answer)
    rest = common_prefix(source[start:][::-1], answer[start:][::-1])
    return [Span(start, len(source) - rest, answer[start : len(answer) - rest])]
