"""Default number of slots of a worker, derived from the concurrency of its stages."""

from __future__ import annotations

from collections.abc import Iterable

from fanfold.model.pipelines.pipeline import Pipeline, Stage
from fanfold.model.text.counting import counted

DEFAULT_SLOTS = 8
MOST_THREADS = 64
"""Most slots for a stage of plain functions, each of which needs a thread, whatever its ``concurrency``."""

Served = Iterable[tuple[Pipeline, Stage]]


def slots_for(served: Served, isolate: str = "") -> int:
    """The sum of the stages' ``concurrency``, and at least 8 for stages without one; ``isolate``: the setting."""
    return max(DEFAULT_SLOTS, sum(_wanted(stage, isolate) for _, stage in served))


def _wanted(stage: Stage, isolate: str) -> int:
    """Slots a stage asks for. Coroutines count in full, threads up to MOST_THREADS, child processes not at all."""
    allowed = _allowed(stage)
    if stage.isolates(isolate) or allowed is None:
        return 0
    return allowed if stage.runs_in_loop else min(allowed, MOST_THREADS)


def _allowed(stage: Stage) -> int | None:
    if stage.concurrency is None or stage.limit is None:
        return stage.concurrency
    return min(stage.concurrency, stage.limit)


def capped(served: Served, slots: int) -> list[str]:
    """One sentence for each stage that allows more than the worker has slots."""
    return [
        f"Stage {pipeline.name}.{stage.name} allows {allowed} at a time; this worker has {counted(slots, ('slot', 'slots'))}. "
        f"For more: --concurrency {allowed} (concurrency={allowed})"
        for pipeline, stage in served
        if (allowed := _allowed(stage)) is not None and allowed > slots
    ]
