"""Finds what a sample of pages has in common at the edges, and which of it is proven to be running lines.

A recurring line proves nothing if the whole page recurs, as in copies of a notice, forms, certificates and labels. It is a
running line if it appears beside enough other text that differs between those pages.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from fanfold.apps.pdf.markdown import page_numbers
from fanfold.apps.pdf.markdown.page_numbers import MUCH_TEXT
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage
from fanfold.apps.pdf.markdown.running_lines import (
    SAME_HEIGHT,
    Running,
    edge_rows,
    is_title,
    margin_rows,
    signatures,
    size,
    tells,
    without_numbers,
)

# Minimum pages with a line at the same height for it to recur.
_REPEATED = 3
# A page is evidence only if at least this share of its letters and digits is outside the recurring lines.
_BESIDE = 0.5

Found = dict[str, list[tuple[float, int]]]
"""Heights and pages of lines, by normalised text."""


def survey(pages: Sequence[RawPage], body: float) -> dict[str, Any]:
    """Recurring lines at the edges, the proven ones among them, page numbers and stamps."""
    found = _found(pages)
    recurring = _recurring(found)
    proving = _proving(pages, Running({"recurring": recurring}), body)
    return {
        "running": _recurring(_found(pages, body), proving),
        "recurring": recurring,
        "stamps": _recurring(_stamps(pages)),
        "numbers": page_numbers.survey([(page, edge_rows(page)) for page in pages if page.number in proving], body),
    }


def _found(pages: Iterable[RawPage], body: float | None = None) -> Found:
    """All lines, and parts of lines, at page edges; without titles if the body size is given."""
    found: Found = defaultdict(list)
    for page in pages:
        for text, height, type_size in _edge_texts(page):
            for known in signatures(text, page.number):
                if body is None or not is_title(known, type_size, body):
                    found[known].append((height, page.number))
    return found


def _edge_texts(page: RawPage) -> Iterable[tuple[str, float, float]]:
    for row in edge_rows(page):
        yield row.text, row.y0, row.size
        if len(row.pieces) > 1:
            yield from ((piece.text, piece.y0, row.size) for piece in row.pieces if tells(piece.text))


def _stamps(pages: Iterable[RawPage]) -> Found:
    """Lines that run up or down the margins, with and without their numbers."""
    found: Found = defaultdict(list)
    for page in pages:
        for row in (row for group in page.turned for row in margin_rows(group)):
            for known in {without_numbers(row.text), *signatures(row.text, page.number)}:
                found[known].append((row.y0, page.number))
    return found


def _proving(pages: Iterable[RawPage], running: Running, body: float) -> dict[int, str]:
    """Pages with enough text beside the recurring lines, and that text."""
    beside = {page.number: (running.beside(page, body), size(page.text)) for page in pages}
    holders: dict[str, set[int]] = defaultdict(set)
    for number, (pieces, _) in beside.items():
        for piece in pieces:
            holders[without_numbers(piece.text)].add(number)
    own = {text for text, numbers in holders.items() if len(numbers) < _REPEATED}
    return {
        number: "\n".join(piece.text for piece in pieces)
        for number, (pieces, total) in beside.items()
        if _is_enough(pieces, total, own)
    }


def _is_enough(pieces: list[Piece], total: int, own: set[str]) -> bool:
    """Whether the other text is most of the page, and is either long or mostly unique to the page."""
    length = sum(size(piece.text) for piece in pieces)
    if not length or length < _BESIDE * total:
        return False
    if length >= MUCH_TEXT:
        return True
    return 2 * sum(size(piece.text) for piece in pieces if without_numbers(piece.text) in own) > length


def _recurring(found: Found, proving: dict[int, str] | None = None) -> list[list[Any]]:
    """Lines that recur at the same height, with that height; only the proven ones if ``proving`` is given."""
    return [[text, round(height, 1)] for text, places in sorted(found.items()) for height in _heights(places, proving)]


def _heights(places: list[tuple[float, int]], proving: dict[int, str] | None) -> list[float]:
    common: list[float] = []
    for height, _ in sorted(places):
        near = {page for other, page in places if abs(other - height) < SAME_HEIGHT}
        is_new = not any(abs(known - height) < SAME_HEIGHT for known in common)
        if is_new and len(near) >= _REPEATED and (proving is None or _is_proven(near, proving)):
            common.append(height)
    return common


def _is_proven(near: set[int], proving: dict[int, str]) -> bool:
    """Whether most pages with the line prove it a running line and differ from each other, since copies prove nothing."""
    proofs = [proving[page] for page in near if page in proving]
    return 2 * len(proofs) > len(near) and len(set(proofs)) > 1
