"""Notes what a sample of pages has in common at the edges, and what of it is proven to be running lines.

A line that recurs proves nothing where all of the page recurs, as in copies of a notice, forms, certificates and labels:
it is a running line where it stands beside enough other text, which is not the same on all those pages.
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

# A line recurs if at least this many pages have it, at the same height.
_REPEATED = 3
# A page that proves anything has at least this share of its letters and digits beside the lines that recur.
_BESIDE = 0.5

Found = dict[str, list[tuple[float, int]]]
"""The heights and pages at which lines stand, by the text as it is compared."""


def survey(pages: Sequence[RawPage], body: float) -> dict[str, Any]:
    """The lines at the edges that recur, those of them that are proven, page numbers and stamps."""
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
    """All lines at the edges of pages, and the parts of lines; without titles, if the size of the body is given."""
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
    """Lines that run up or down the margins, with their numbers and without."""
    found: Found = defaultdict(list)
    for page in pages:
        for row in (row for group in page.turned for row in margin_rows(group)):
            for known in {without_numbers(row.text), *signatures(row.text, page.number)}:
                found[known].append((row.y0, page.number))
    return found


def _proving(pages: Iterable[RawPage], running: Running, body: float) -> dict[int, str]:
    """The pages that have enough text beside the lines that recur, with that text."""
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
    """Whether the text beside recurring lines is most of the page, and is long or for the greater part the page's own."""
    length = sum(size(piece.text) for piece in pieces)
    if not length or length < _BESIDE * total:
        return False
    if length >= MUCH_TEXT:
        return True
    return 2 * sum(size(piece.text) for piece in pieces if without_numbers(piece.text) in own) > length


def _recurring(found: Found, proving: dict[int, str] | None = None) -> list[list[Any]]:
    """The lines that recur at the same height, with that height; only those that are proven, if the proof is given."""
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
    """Whether most pages that have a line prove it a running line, and differ: copies of one page prove nothing."""
    proofs = [proving[page] for page in near if page in proving]
    return 2 * len(proofs) > len(near) and len(set(proofs)) > 1
