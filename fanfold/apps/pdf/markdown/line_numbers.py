"""Finds the numbers of lines in a margin, as legal documents, manuscripts and patents have them: they are no text.

Numbers of a table, a list or a chart are told apart by what is beside them: lines of running text, one for each step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from fanfold.apps.pdf.markdown.lines import Box, rows
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage
from fanfold.apps.pdf.markdown.zones import is_running

_DIGITS = 4
# In points: numbers below each other begin or end within this.
_ALIGNED = 2.5
_STEPS = {1: 5, 2: 4, 5: 3, 10: 3}
"""How many numbers are needed, by the step from one to the next."""
# In multiples of the type size: white space between a number and its line, and how far they may be apart in height.
_APART = 0.4
_LEVEL = 0.45
# Shares of the numbers that have a line beside them, and of the lines that may be more or fewer than the numbers say.
_BESIDE = 0.8
_MORE = 0.25
# A form whose numbers are printed on the paper has at least this many of them, at the same distance (in points), over
# this share of the page.
_PRINTED = 20
_SAME_DISTANCE = 1.0
_MOST_OF_IT = 0.6


def take(page: RawPage) -> list[Piece]:
    """Remove the numbers of lines from a page; returns them."""
    numbers = [piece for piece in page.pieces if piece.text.isdecimal() and len(piece.text) <= _DIGITS]
    if len(numbers) < min(_STEPS.values()):
        return []
    found: dict[int, Piece] = {}
    # Some begin in one column, others end in one: the longer run is the right one.
    for run in sorted(_runs(numbers), key=len, reverse=True):
        if not any(id(piece) in found for piece in run) and _are_of_lines(run, page):
            found.update((id(piece), piece) for piece in run)
    if found:
        page.pieces = [piece for piece in page.pieces if id(piece) not in found]
    return list(found.values())


def _runs(numbers: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Numbers below each other that rise by the same step."""
    for edge in (_right, _left):
        for _, group in itertools.groupby(_aligned(numbers, edge), key=lambda found: found[0]):
            column = sorted((piece for _, piece in group), key=lambda piece: piece.y0)
            yield from _rising(column)


def _right(piece: Piece) -> float:
    return piece.x1


def _left(piece: Piece) -> float:
    return piece.x0


def _aligned(numbers: Sequence[Piece], edge: Callable[[Piece], float]) -> Iterator[tuple[int, Piece]]:
    """The numbers with the number of their column."""
    column = 0
    last: float | None = None
    for piece in sorted(numbers, key=edge):
        if last is not None and edge(piece) - last > _ALIGNED:
            column += 1
        last = edge(piece)
        yield column, piece


def _rising(column: Sequence[Piece]) -> Iterator[list[Piece]]:
    run: list[Piece] = []
    for piece in column:
        step = int(piece.text) - int(run[-1].text) if run else 0
        known = int(run[1].text) - int(run[0].text) if len(run) > 1 else step
        if run and (step not in _STEPS or step != known):
            yield from _long_enough(run)
            run = run[-1:] if step in _STEPS else []
        run.append(piece)
    yield from _long_enough(run)


def _long_enough(run: list[Piece]) -> Iterator[list[Piece]]:
    if len(run) > 1 and len(run) >= _STEPS[int(run[1].text) - int(run[0].text)]:
        yield run


def _are_of_lines(run: list[Piece], page: RawPage) -> bool:
    """Whether these numbers stand alone in their strip of the page, beside the lines that they count."""
    left, right = min(map(_left, run)), max(map(_right, run))
    top, bottom = run[0].y0 - 0.5 * run[0].size, run[-1].y1 + 0.5 * run[-1].size
    known = set(map(id, run))
    level = [piece for piece in page.pieces if id(piece) not in known and top < (piece.y0 + piece.y1) / 2 < bottom]
    apart = _APART * run[0].size
    if any(piece.x0 < right + apart and left - apart < piece.x1 for piece in level):
        return False
    sides: list[list[Box]] = [
        [piece for piece in level if piece.x0 > right],
        [piece for piece in level if piece.x1 < left],
    ]
    return any(_are_counted(run, side) for side in sides) or _are_printed(run, sides, page.height)


def _are_counted(run: list[Piece], side: list[Box]) -> bool:
    """Whether the lines on one side are running text, and as many as the numbers say."""
    if not side or not is_running(side):
        return False
    lines = list(rows(side))
    told = int(run[-1].text) - int(run[0].text) + 1
    if abs(len(lines) - told) > max(1.0, _MORE * told):
        return False
    return sum(_is_beside(piece, lines) for piece in run) >= _BESIDE * len(run)


def _is_beside(piece: Piece, lines: Sequence[Sequence[Box]]) -> bool:
    middle = piece.y0 + piece.y1
    return any(abs(box.y0 + box.y1 - middle) < 2 * _LEVEL * piece.size for row in lines for box in row)


def _are_printed(run: list[Piece], sides: Sequence[list[Box]], height: float) -> bool:
    """Whether the numbers continue at the same distance over most of the page, whatever is written beside them."""
    distances = [below.y0 - above.y0 for above, below in itertools.pairwise(run)]
    if len(run) < _PRINTED or run[0].text != "1" or max(distances) - min(distances) > _SAME_DISTANCE:
        return False
    if run[-1].y1 - run[0].y0 < _MOST_OF_IT * height:
        return False
    lines = list(rows([box for side in sides for box in side]))
    return len(lines) > 0 and sum(_is_beside(piece, lines) for piece in run) < _BESIDE * len(run)
