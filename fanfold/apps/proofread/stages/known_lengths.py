"""Remembers how long translations of a book usually are, from the chunks that this process has translated."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from fanfold.apps.proofread.checks.lengths import LengthBand

MOST_TASKS = 100
MOST_PAIRS = 2_000
"""Pairs after which the median of a book hardly moves."""
_BANDS: OrderedDict[str, LengthBand] = OrderedDict()


def band_of(task_id: str) -> LengthBand:
    """The usual lengths of a book so far."""
    return _BANDS.get(task_id) or LengthBand()


def learn(task_id: str, pairs: Iterable[tuple[str, str]]) -> None:
    """Take pairs of source and translation into account. Two threads may lose each other's pairs, which does no harm."""
    band = band_of(task_id)
    if len(band.ratios) < MOST_PAIRS:
        _BANDS[task_id] = band.seen(pairs)
        _BANDS.move_to_end(task_id)
    while len(_BANDS) > MOST_TASKS:
        _BANDS.popitem(last=False)
