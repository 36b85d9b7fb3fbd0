"""Joins words that are split at the end of a line, by the evidence of the document and without a dictionary.

A hyphen stays if the document has the same word with a hyphen inside a line, or if it has other words that end alike
("large-scale" for "optical-scale"); it goes if the document has the word in one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

# "self-" at the end of a line keeps its hyphen: these prefixes are nearly always hyphenated.
_PREFIXES = (
    "self|non|well|post|pre|semi|quasi|ex|all|cross|half|high|low|long|short|real|time|state|full|part|mid|multi|open"
    "|one|two|three|four|five|six|first|second|third|right|left|up|down|so|e|x"
)
_KEEPS_HYPHEN = re.compile(_PREFIXES)
_PREFIXED = re.compile(rf"(?:{_PREFIXES})[^\W\d_]{{3,}}")
_SPLIT_WORD = re.compile(r"(?:^|[\s(\[“\"'‘/])([^\W\d_]+)[-‐]$")
_COMPOUND = re.compile(r"(?<![\w-])([^\W\d_]{2,})-([^\W\d_]{3,})(?![\w-])")
_WORD = re.compile(r"[^\W\d_]+")
# Most words of each kind that a survey lists; endings are kept if this many words have them.
_MOST = 1500
_SEVERAL = 2


@dataclass(frozen=True)
class Evidence:
    """Words of a document with and without a hyphen."""

    compounds: frozenset[str] = frozenset()
    endings: frozenset[str] = frozenset()
    joined: frozenset[str] = frozenset()

    @classmethod
    def of(cls, survey: dict[str, Any]) -> Evidence:
        """The evidence that a survey lists."""
        compounds = frozenset(survey.get("compounds", ()))
        begins = defaultdict(set)
        for word in compounds:
            begin, _, end = word.partition("-")
            begins[end].add(begin)
        endings = frozenset(end for end, found in begins.items() if len(found) >= _SEVERAL)
        return cls(compounds, endings, frozenset(survey.get("joined_words", ())))


_NONE = Evidence()
_EVIDENCE: ContextVar[Evidence] = ContextVar("hyphens")


@contextmanager
def evidence(survey: dict[str, Any]) -> Iterator[None]:
    """Join words by the evidence of this survey."""
    token = _EVIDENCE.set(Evidence.of(survey))
    try:
        yield
    finally:
        _EVIDENCE.reset(token)


def survey(texts: Iterable[str]) -> dict[str, list[str]]:
    """The words with a hyphen in these texts, and words in one that begin as hyphenated ones do."""
    compounds: set[str] = set()
    joined: set[str] = set()
    for text in texts:
        folded = text.casefold()
        if "-" in folded:
            compounds.update(f"{match[1]}-{match[2]}" for match in _COMPOUND.finditer(folded))
        joined.update(word for word in _WORD.findall(folded) if _PREFIXED.fullmatch(word))
    return {"compounds": sorted(compounds)[:_MOST], "joined_words": sorted(joined)[:_MOST]}


def join(before: str, after: str) -> str:
    """Drop a hyphen added by the line break; keep one that belongs to the word ("self-published", "COVID-19")."""
    match = _SPLIT_WORD.search(before)
    if match is None:
        # "state-of-the-" already has hyphens, "- " was a dash, "2-" a number: keep them.
        return before + after if len(before) > 1 and before[-2] != " " else f"{before} {after}"
    part, known = match[1], _EVIDENCE.get(_NONE)
    begin, end = part.casefold(), _WORD.match(after)
    if end is not None and begin + end[0] in known.joined:
        return before[:-1] + after
    if end is not None and (f"{begin}-{end[0]}" in known.compounds or end[0] in known.endings):
        return before + after
    if not after[0].islower() or _KEEPS_HYPHEN.fullmatch(begin) or (part.isupper() and len(part) > 1):
        return before + after
    return before[:-1] + after
