"""The room for new calls in one turn of a worker: free slots, and items that may be claimed ahead of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from fanfold.model.pipelines.pipeline import Stage
from fanfold.store.items.find_work import Pair, Ready

MOST_ITEMS = 2_000
"""Most items that one turn claims: a few slots of batch handlers can hold tens of thousands, too many for one transaction."""


@dataclass
class Room:
    """How many more calls may run now, in total and per stage, and how many already run. A call runs one item, or a batch."""

    slots: int
    """Free slots: items claimed for them start at once."""
    running: Counter[Pair] = field(default_factory=Counter)
    suspects: int = 0
    """How many suspects can start at once, in stages that isolate them."""
    isolates_suspects: Callable[[Stage], bool] = lambda stage: False
    ahead: dict[Pair, int] = field(default_factory=dict)
    """Items that may be claimed ahead, per stage: they wait until a slot is free."""
    items: int = MOST_ITEMS
    """How many items may still be claimed in this turn, for batch handlers."""

    @property
    def free(self) -> int:
        """How many items may be claimed, for slots and ahead."""
        return self.slots + sum(self.ahead.values())

    def slots_for(self, pipeline: str, stage: Stage) -> int:
        """Free slots for one stage in this worker."""
        own = self.slots if stage.concurrency is None else stage.concurrency - self.running[pipeline, stage.name]
        return max(0, min(self.slots, own))

    def for_stage(self, pipeline: str, stage: Stage) -> int:
        """How many items of one stage may be claimed, for slots and ahead."""
        return self.slots_for(pipeline, stage) + self.ahead.get((pipeline, stage.name), 0)

    def take(self, ready: Ready, for_slots: int, ahead: int) -> None:
        """Subtract what was claimed."""
        pair = (ready.pipeline, ready.stage)
        self.slots -= for_slots
        self.running[pair] += for_slots
        if ahead:
            self.ahead[pair] -= ahead
