"""Which pages did somebody mean by ``1-3,7,10-``, ``-5`` or ``last``?"""

from __future__ import annotations

import re

import fanfold as ff

SYNTAX = "Write pages like 1-3,7,10- (to the end), -5 (the first five), last or last-2 (the third from the end)"

_EDGE = r"(\d{1,9}|last(?:-\d{1,9})?)"
_SINGLE = re.compile(_EDGE)
_FROM_TO = re.compile(rf"{_EDGE}?-{_EDGE}?")
# People copy ranges out of documents: full-width digits and signs, and every kind of dash, mean what they look like.
_LOOKALIKES = str.maketrans("０１２３４５６７８９，、；;－–—−‐‑~～", "0123456789,,,,--------")


def parse(text: str, total: int) -> list[int]:
    """The page numbers a range names: each page once, in the order they were named. Nothing named means all pages."""
    plain = text.translate(_LOOKALIKES).lower()
    if not plain.strip():
        return list(range(1, total + 1))
    # Spaces separate pages too ("1 3 5"), but not around a dash ("1 - 3").
    parts = re.sub(r"\s*-\s*", "-", plain).replace(",", " ").split()
    named = [page for part in parts for page in _pages(part, text, total)]
    if not named:
        raise ff.Permanent(f"The page range {text!r} names no page. {SYNTAX}.", code="bad_range")
    return list(dict.fromkeys(named))


def _pages(part: str, text: str, total: int) -> range:
    if single := _SINGLE.fullmatch(part):
        first = last = _number(single[1], total)
    elif (ends := _FROM_TO.fullmatch(part)) and part != "-":
        first = _number(ends[1], total) if ends[1] else 1
        last = min(_number(ends[2], total), total) if ends[2] else total
        if ends[1] and ends[2] and _number(ends[2], total) < first:
            raise ff.Permanent(f"{part!r} in the page range {text!r} runs backwards. {SYNTAX}.", code="bad_range")
    else:
        raise ff.Permanent(f"{part!r} in the page range {text!r} is not a page or a range. {SYNTAX}.", code="bad_range")
    if first < 1 or first > total or last < 1:
        raise ff.Permanent(
            f"The page range {text!r} names pages the document does not have: {part!r} of {total} {_pages_word(total)}. "
            f"Choose from 1-{total}.",
            code="no_such_pages",
        )
    return range(first, last + 1)


def _number(edge: str, total: int) -> int:
    if edge.startswith("last"):
        return total - int(edge[5:] or 0)
    return int(edge)


def _pages_word(total: int) -> str:
    return "page" if total == 1 else "pages"
