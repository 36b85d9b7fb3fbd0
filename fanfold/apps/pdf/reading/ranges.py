"""Parses page ranges such as ``1-3,7,10-``, ``-5`` or ``last``."""

from __future__ import annotations

import re

import fanfold as ff
from fanfold.apps.pdf.sentences import say_of_pdf

SYNTAX = say_of_pdf("range_syntax")

_EDGE = r"(\d{1,9}|last(?:-\d{1,9})?)"
_SINGLE = re.compile(_EDGE)
_FROM_TO = re.compile(rf"{_EDGE}?-{_EDGE}?")
# People copy ranges from documents, so full-width digits and signs and every kind of dash are accepted.
_LOOKALIKES = str.maketrans("０１２３４５６７８９，、；;－–—−‐‑~～", "0123456789,,,,--------")


def parse(text: str, total: int) -> list[int]:
    """Page numbers of a range, without duplicates and in the given order. An empty range means all pages."""
    if not text.strip():
        return list(range(1, total + 1))
    named = [page for part in _parts(text) for page in _pages(part, text, total)]
    if not named:
        raise ff.Permanent(say_of_pdf("range_empty", range=text, syntax=SYNTAX), code="bad_range")
    return list(dict.fromkeys(named))


def check(text: str) -> None:
    """Check the syntax of a page range; the number of pages is not known yet."""
    parts = _parts(text)
    if text.strip() and not parts:
        raise ff.Permanent(say_of_pdf("range_empty", range=text, syntax=SYNTAX), code="bad_range")
    for part in parts:
        _edges(part, text)


def _parts(text: str) -> list[str]:
    plain = text.translate(_LOOKALIKES).lower()
    # Spaces separate pages too ("1 3 5"), but not around a dash ("1 - 3").
    return re.sub(r"\s*-\s*", "-", plain).replace(",", " ").split()


def _edges(part: str, text: str) -> tuple[str, str]:
    """First and last page as written; empty if left open."""
    if single := _SINGLE.fullmatch(part):
        _from_one((single[1],), part, text)
        return single[1], single[1]
    ends = _FROM_TO.fullmatch(part)
    if ends is None or part == "-":
        raise ff.Permanent(say_of_pdf("range_wrong", part=part, range=text, syntax=SYNTAX), code="bad_range")
    first, last = ends[1] or "", ends[2] or ""
    _from_one((first, last), part, text)
    if first.isdecimal() and last.isdecimal() and int(last) < int(first):
        raise _backwards(part, text)
    return first, last


def _from_one(edges: tuple[str, ...], part: str, text: str) -> None:
    if any(edge.isdecimal() and int(edge) == 0 for edge in edges):
        raise ff.Permanent(
            f"{part!r} in the page range {text!r} names page 0, but pages begin at 1. {SYNTAX}.", code="bad_range"
        )


def _backwards(part: str, text: str) -> ff.Permanent:
    return ff.Permanent(say_of_pdf("range_backwards", part=part, range=text, syntax=SYNTAX), code="bad_range")


def _pages(part: str, text: str, total: int) -> range:
    said_first, said_last = _edges(part, text)
    first = _number(said_first, total) if said_first else 1
    last = min(_number(said_last, total), total) if said_last else total
    if said_first and said_last and _number(said_last, total) < first:
        raise _backwards(part, text)
    if first < 1 or first > total or last < 1:
        raise ff.Permanent(say_of_pdf("range_beyond", range=text, part=part, total=total), code="no_such_pages")
    return range(first, last + 1)


def _number(edge: str, total: int) -> int:
    if edge.startswith("last"):
        return total - int(edge[5:] or 0)
    return int(edge)
