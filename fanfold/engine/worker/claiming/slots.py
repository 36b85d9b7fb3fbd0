"""How many items a worker runs at the same time when nobody said a number: it follows its stages."""

from __future__ import annotations

from collections.abc import Iterable

from fanfold.model.pipelines.pipeline import Pipeline, Stage
from fanfold.model.text.counting import counted

DEFAULT_PLACES = 8
MOST_THREADS = 64
"""Places for a stage of plain functions, each of which needs a thread, whatever its ``concurrency`` says."""

Served = Iterable[tuple[Pipeline, Stage]]


def places_for(served: Served) -> int:
    """The sum of what the stages ask for with ``concurrency``, and at least 8 for those that say nothing."""
    return max(DEFAULT_PLACES, sum(_wanted(stage) for _, stage in served))


def _wanted(stage: Stage) -> int:
    """Slots a stage asks for. Coroutines count in full, threads up to MOST_THREADS, child processes not at all."""
    allowed = _allowed(stage)
    if stage.isolate or allowed is None:
        return 0
    return allowed if stage.runs_in_loop else min(allowed, MOST_THREADS)


def _allowed(stage: Stage) -> int | None:
    if stage.concurrency is None or stage.limit is None:
        return stage.concurrency
    return min(stage.concurrency, stage.limit)


def capped(served: Served, places: int) -> list[str]:
    """A sentence for each stage that allows more than the worker has places."""
    return [
        f"Stage {pipeline.name}.{stage.name} allows {allowed} at a time; this worker has {counted(places, ('place', 'places'))}. "
        f"For more: --concurrency {allowed} (concurrency={allowed})"
        for pipeline, stage in served
        if (allowed := _allowed(stage)) is not None and allowed > places
    ]
