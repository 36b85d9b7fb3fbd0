"""Decides how many items a worker claims ahead of its slots, by the measured time of the handlers.

A turn of the worker costs about the same for one item as for a hundred, so handlers that take a millisecond would wait for the
database most of the time if items were claimed only for free slots. Items claimed ahead wait in the worker until a slot is free:
about AHEAD_SECONDS of work, so that another worker, a more urgent task or a pause is not kept waiting. Slow handlers get none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fanfold.model.pipelines.pipeline import Pipeline, Stage
from fanfold.model.plan import Kind
from fanfold.store.items.find_work import Pair

AHEAD_SECONDS = 0.05
"""How much work is claimed ahead, as time until the last of these items starts."""
MOST_AHEAD = 1_000
"""Most items claimed ahead per stage. What they cost beyond a slot is memory, and a release if they are not wanted."""
RISE, FALL = 0.5, 0.05
"""Weight of a new measurement that is longer or shorter than the average. Slow items count at once, fast ones slowly, so that
items are not claimed ahead of handlers that are often slow."""
SHORTEST_SECONDS = 1e-5


class HandlerTimes:
    """Moving average of the time that the handlers of each stage take."""

    def __init__(self) -> None:
        self._seconds: dict[Pair, float] = {}
        self._paid: set[Pair] = set()

    def add(self, pair: Pair, seconds: float, *, is_paid: bool = False) -> None:
        """Count one call. Where calls cost something, nothing is claimed ahead from then on.

        A budget that is used up stops the next claim, so what was claimed before is what it can be overspent by.
        """
        if is_paid:
            self._paid.add(pair)
        known = self._seconds.get(pair)
        if known is None:
            self._seconds[pair] = seconds
        else:
            self._seconds[pair] = known + (RISE if seconds > known else FALL) * (seconds - known)

    def at_least(self, pair: Pair, seconds: float) -> None:
        """Note that calls take longer than was assumed, without waiting for their end."""
        self._seconds[pair] = max(seconds, self._seconds.get(pair, 0.0))

    def of(self, pair: Pair) -> float | None:
        """The average; None before the first call, and where calls cost something."""
        return None if pair in self._paid else self._seconds.get(pair)


def may_claim_ahead(stage: Stage, isolate: str) -> bool:
    """Whether items of a stage may wait for a slot.

    Not with a limit across workers: they would hold permits that others could use. Not in child processes: these take long.
    Not in batches: a slot already holds many items.
    """
    return stage.kind is Kind.EACH and stage.limit is None and stage.batch is None and not stage.isolates(isolate)


def room_ahead(
    stages: Iterable[tuple[Pipeline, Stage]],
    slots: int,
    times: HandlerTimes,
    waiting: Mapping[Pair, int],
    ahead_seconds: float = AHEAD_SECONDS,
) -> dict[Pair, int]:
    """How many more items of each stage may be claimed ahead, given those that wait already."""
    room: dict[Pair, int] = {}
    work = sum(count * (times.of(pair) or 0.0) for pair, count in waiting.items())
    for pipeline, stage in stages:
        pair = (pipeline.name, stage.name)
        seconds = times.of(pair)
        if seconds is not None:
            at_once = slots if stage.concurrency is None else min(slots, stage.concurrency)
            left = at_once * ahead_seconds - work
            count = min(MOST_AHEAD - waiting.get(pair, 0), int(left / max(SHORTEST_SECONDS, seconds)))
            if count > 0:
                room[pair] = count
    return room
