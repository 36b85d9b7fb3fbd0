"""Divides claimed items into the calls of a batch handler.

If a call fails as a whole, nobody knows which item is at fault. Its items are tried again in smaller batches, and in the end each
alone. So the item at fault is found after a few calls, and no item is given up because of its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fanfold.model.item import Claimed
from fanfold.model.pipelines.pipeline import Pipeline, Stage
from fanfold.model.task import TaskRow
from fanfold.store.items.claim import SUSPECT_CRASHES

SHRINK = 4
"""After each failure or crash an item runs in a batch smaller by this factor: 64, 16, 4, 1, which the three retries of the
default just cover. One bad item of 64 costs 12 more calls; halving would take twice as many rounds."""


def size_for(claimed: Claimed, batch: int) -> int:
    """The largest batch that an item may be part of, after what has happened to it before."""
    if not claimed.failures and not claimed.crashes:
        return batch
    if claimed.crashes >= SUSPECT_CRASHES:
        return 1
    # A bounded exponent: the columns count up to 32,767.
    shrunk: int = batch // SHRINK ** min(claimed.failures + claimed.crashes, 5)
    return max(1, shrunk)


def into_calls(claimed: Sequence[Claimed], batch: int) -> list[list[Claimed]]:
    """The items of each call, in order. Only items that may be part of batches of the same size share a call."""
    if not [one for one in claimed if one.failures or one.crashes]:  # A generator would take twice as long.
        return [list(claimed[first : first + batch]) for first in range(0, len(claimed), batch)]
    calls: list[list[Claimed]] = []
    filling: dict[int, list[Claimed]] = {}
    for one in claimed:
        size = size_for(one, batch)
        if len(filling.get(size, ())) in (0, size):
            filling[size] = []
            calls.append(filling[size])
        filling[size].append(one)
    return calls


def calls_of(
    claimed: Sequence[tuple[TaskRow, Claimed]], pipelines: Mapping[str, Pipeline]
) -> Iterator[tuple[TaskRow, Stage, list[Claimed]]]:
    """The calls to make: one for each item, or in a batch stage one for several items of one task."""
    found: dict[tuple[int, str], tuple[TaskRow, Stage, list[Claimed]]] = {}
    for row, one in claimed:
        known = found.get((one.task, one.stage))
        if known is None:
            stage = pipelines[row.pipeline].find(one.stage)
            assert stage is not None, "only items of served stages are claimed"
            known = found[one.task, one.stage] = (row, stage, [])
        if known[1].batch is None:
            yield row, known[1], [one]
        else:
            known[2].append(one)
    for row, stage, items in found.values():
        if stage.batch is not None:
            for call in into_calls(items, stage.batch):
                yield row, stage, call
