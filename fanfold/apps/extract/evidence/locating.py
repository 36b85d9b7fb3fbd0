"""Locates a quote in a document, near the line that the model named first, and scores the evidence.

The page that a model names is ignored, and its line is used only if the quote really is there. A quote is weak evidence
at most if it is short enough to be found by chance, or if the text there has other numbers or another negation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fanfold.apps.extract.documents.document import Document
from fanfold.apps.extract.evidence.alignment import Place, exact_places, interrupted_places, similar_place
from fanfold.apps.extract.evidence.folding import fold, is_ideograph, units
from fanfold.apps.extract.evidence.located import FOUND, WEAK, Evidence
from fanfold.apps.extract.evidence.numbers import missing_numbers

DOUBTFUL = 87.0
"""Maximum score of a quote that is weak evidence at most."""
INTERRUPTED = 95.0
"""Score of a quote whose two parts match exactly, with other text between them."""
# Minimum folded characters in each part of such a quote.
_PART = 16
# Weights (a letter or digit is 1, a Chinese character 2). Below the first number, a quote occurs by chance in nearly
# every document, so it counts only at its line; below the second, by chance in many. Below the third, it must match
# nearly unchanged.
_TINY = 4
_SHORT = 9
_BRIEF = 16
# Lines around the named line that are searched first, since models count lines inexactly; the second is for short
# quotes.
_NEAR_LINES = 4
_AT_LINE = 1
# Minimum score of each quarter of a quote that is found in several pieces.
_QUARTER = 85.0
# Maximum distance between parts of one quote, in characters: about one dense page.
_APART = 6000
_ELLIPSIS = re.compile(r"\s*[\[(（【]?(?:\.{3,}|…+|⋯+)[\])）】]?\s*")
_NEGATION = re.compile(r"\b(?:not|no|never|without|neither|nor|cannot)\b|n['’]t\b|[未无不没非]", re.IGNORECASE)
_NUMBER_ENDS = re.compile(r"\d(?:[.,]?\d)*[.,]?$")
_NUMBER_GOES_ON = re.compile(r"(?:[.,]?\d)+")
_LONGEST_NUMBER = 30
_DIVIDED_NUMBER = re.compile(r"(?<=[\d.,])\n(?=[\d.,])")


class _Range(NamedTuple):
    """A range of folded positions, and the position of the named line in it."""

    start: int
    end: int
    named: int = 0


def locate(document: Document, quote: str, line: int | None = None) -> Evidence | None:
    """The place of a quote: found with a score of 88 or more, weak with 75 or more, otherwise None."""
    parts = [part for part in _ELLIPSIS.split(quote) if units(fold(part).text)]
    if not document.lines or not parts:
        return None
    if len(parts) == 1:
        size = units(fold(quote).text)
        near = _near(document, line, len(quote), _AT_LINE if size < _SHORT else _NEAR_LINES)
        place = _place(document, parts[0], near)
        if place is None or place.score < FOUND:
            interrupted = _interrupted(document, parts[0])
            if interrupted is not None:
                return interrupted
        if place is None:
            return _scattered(document, parts[0])
        return _evidence(document, quote, [(parts[0], place)], place.score)
    return _in_parts(document, quote, parts, _near(document, line, len(quote), _NEAR_LINES))


def _in_parts(document: Document, quote: str, parts: Sequence[str], near: _Range | None) -> Evidence | None:
    """Locate a quote with an ellipsis: its parts follow each other in the text."""
    whole = _Range(0, len(document.folded.text))
    found: list[tuple[str, Place]] = []
    after = near
    score = length = 0.0
    for part in parts:
        weight = units(fold(part).text)
        length += weight
        place = _place(document, part, after, within=after if found else whole)
        if place is not None:
            found.append((part, place))
            score += weight * place.score
            after = _Range(place.end, min(place.end + _APART, whole.end), place.end)
    if not found or score < WEAK * length:
        return None
    return _evidence(document, quote, found, score / length)


def _interrupted(document: Document, quote: str) -> Evidence | None:
    """Locate a quote that is interrupted in the document by a footnote, a figure or a page header."""
    wanted = fold(quote)
    found = interrupted_places(wanted.text, document.folded.text, _PART, _APART)
    if found is None:
        return None
    first, second = found
    cut = wanted.origins[first.end - first.start]
    parts = [(quote[:cut], first), (quote[cut:], second)]
    return _evidence(document, quote, parts, INTERRUPTED)


def _scattered(document: Document, quote: str) -> Evidence | None:
    """Locate a long quote most of whose quarters are found close together. The evidence is weak, for a person to check."""
    wanted = fold(quote)
    size = len(wanted.text) // 4
    if size < _PART:
        return None
    text = document.folded.text
    found: list[tuple[str, Place]] = []
    for at in range(4):
        part = wanted.text[at * size : (at + 1) * size]
        start, end = (max(found[0][1].start - _APART, 0), found[0][1].end + _APART) if found else (0, len(text))
        place = similar_place(part, text, start, min(end, len(text)), _QUARTER)
        if place is not None:
            first, last = wanted.original(at * size, (at + 1) * size)
            found.append((quote[first:last], place))
    return _evidence(document, quote, found, WEAK) if len(found) >= 3 else None


def _near(document: Document, line: int | None, length: int, lines: int) -> _Range | None:
    """The lines around the named one, with room for the quote."""
    if line is None or not 1 <= line <= len(document.lines):
        return None
    first = document.lines[max(line - 1 - lines, 0)]
    last = document.lines[min(line - 1 + lines, len(document.lines) - 1)]
    folded = document.folded
    named = folded.folded(document.lines[line - 1].start)
    return _Range(folded.folded(first.start), folded.folded(last.end + length), named)


def _place(document: Document, quote: str, near: _Range | None, within: _Range | None = None) -> Place | None:
    """The best place for one stretch of text: an exact match near the line, then elsewhere, then a similar one."""
    text = document.folded.text
    within = within or _Range(0, len(text))
    wanted = fold(quote).text
    size = units(wanted)
    exact = [
        place
        for place in exact_places(wanted, text)
        if within.start <= place.start and place.end <= within.end and (size >= _SHORT or _is_whole(document, place))
    ]
    if exact:
        best = min(exact, key=lambda place: _distance(place, near))
        return _judged_short(best, size, near) if size < _SHORT else best
    if size < _SHORT:
        return None
    return _similar(wanted, text, near, within, FOUND if size < _BRIEF else WEAK)


def _similar(wanted: str, text: str, near: _Range | None, within: _Range, least: float) -> Place | None:
    close = None
    if near is not None:
        close = similar_place(wanted, text, max(near.start, within.start), min(near.end, within.end), least)
        if close is not None and close.score >= FOUND:
            return close
    anywhere = similar_place(wanted, text, within.start, within.end, least)
    if close is None or (anywhere is not None and anywhere.score > close.score):
        return anywhere
    return close


def _judged_short(place: Place, size: int, near: _Range | None) -> Place | None:
    """A short quote counts only at the named line. Elsewhere it is weak, or no evidence if it is tiny."""
    if near is not None and near.start <= place.start and place.end <= near.end:
        return place
    return None if size < _TINY else place._replace(score=DOUBTFUL)


def _distance(place: Place, near: _Range | None) -> int:
    if near is None:
        return 0
    return abs(place.start - near.named)


def _is_whole(document: Document, place: Place) -> bool:
    """Whether a place begins and ends at the edge of a word or number."""
    start, end = document.folded.original(place.start, place.end)
    text = document.text
    if (start, end) != _whole_numbers(text, start, end):
        return False
    return not (_is_word(text[start - 1 : start + 1]) or _is_word(text[end - 1 : end + 1]))


def _is_word(pair: str) -> bool:
    """Whether two neighbours are letters of one word."""
    return len(pair) == 2 and pair.isalpha() and not any(map(is_ideograph, pair))


def _evidence(document: Document, quote: str, parts: Sequence[tuple[str, Place]], score: float) -> Evidence | None:
    """The evidence for the parts of a quote, with its score lowered where the text says something else."""
    ranges = [_whole_numbers(document.text, *document.folded.original(place.start, place.end)) for _, place in parts]
    texts = [_readable(document.text[start:end], part) for (part, _), (start, end) in zip(parts, ranges, strict=True)]
    if any(_says_something_else(part, text) for (part, _), text in zip(parts, texts, strict=True)):
        score = min(score, DOUBTFUL)
    start, end = ranges[0][0], max(end for _, end in ranges)
    return Evidence(
        quote=quote,
        text=" … ".join(texts),
        page=document.page_of(start),
        line=document.line_at(start).number,
        start=start,
        end=end,
        score=round(score, 1),
        boxes=[box for one in ranges for box in document.boxes(*one)],
    )


def _says_something_else(quote: str, text: str) -> bool:
    return missing_numbers(quote, text) or _negations(quote) != _negations(text)


def _negations(text: str) -> int:
    return sum(1 for _ in _NEGATION.finditer(text))


def _whole_numbers(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without partial numbers at its edges: a quote that ends with 12 does not match 120 or 12.5."""
    before = _NUMBER_ENDS.search(text, max(start - _LONGEST_NUMBER, 0), start)
    if before is not None and text[start].isdigit():
        start = before.start()
    after = _NUMBER_GOES_ON.match(text, end)
    if after is not None and text[end - 1].isdigit():
        end = after.end()
    return start, end


def _readable(text: str, quote: str) -> str:
    """The located text in one line, with words that were broken at a line end put together.

    Digits at the end of a line and the start of the next are joined to one number if the quote has that number.
    """
    words = re.sub(r"(?<=[^\W\d_])[-‐\u00ad]\n(?=[^\W\d_])", "", text)
    spaced = re.sub(r"\s+", " ", words)
    if not _DIVIDED_NUMBER.search(words) or not missing_numbers(quote, spaced):
        return spaced
    joined = re.sub(r"\s+", " ", _DIVIDED_NUMBER.sub("", words))
    return spaced if missing_numbers(quote, joined) else joined
