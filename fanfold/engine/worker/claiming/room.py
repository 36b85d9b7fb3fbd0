"""The room for new items in one turn of a worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from fanfold.model.pipelines.pipeline import Stage
from fanfold.store.items.find_work import Pair, Ready


@dataclass
class Room:
    """How many more items may run now, in total and per stage, and how many already run."""

    free: int
    running: Counter[Pair] = field(default_factory=Counter)
    suspects: int = 0
    """How many suspects can start at once, in stages that isolate them."""
    isolates_suspects: Callable[[Stage], bool] = lambda stage: False

    def for_stage(self, pipeline: str, stage: Stage) -> int:
        """Free slots for one stage in this worker."""
        own = self.free if stage.concurrency is None else stage.concurrency - self.running[pipeline, stage.name]
        return max(0, min(self.free, own))

    def take(self, ready: Ready, count: int) -> None:
        """Subtract what was claimed."""
        self.free -= count
        self.running[ready.pipeline, ready.stage] += count
