"""Computes progress from 0 to 100 from the stages' weights and the counts of item states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.plan import Plan


@dataclass(frozen=True)
class Counts:
    """How many items of a stage are in each state."""

    by_state: Mapping[str, int] = field(default_factory=dict)
    share: float = 0.0
    """Reported progress of the item of a single-item stage, from 0 to 1."""

    def __getitem__(self, state: str) -> int:
        return self.by_state.get(state, 0)

    @property
    def total(self) -> int:
        """All items of the stage."""
        return sum(self.by_state.values())

    @property
    def settled(self) -> int:
        """Done or failed."""
        return self[ItemState.DONE] + self[ItemState.FAILED]

    @property
    def started(self) -> bool:
        """Whether any item has left `pending`."""
        return self.total > self[ItemState.PENDING]

    @property
    def queued(self) -> bool:
        """Whether items are pending and no item is being worked on, waits or is retried."""
        return 0 < self[ItemState.PENDING] == self.total - self.settled


def percent(plan: Plan, state: str, stage: str, counts: Counts) -> float:
    """Progress of a task in ``stage``. It never decreases except when a person retries."""
    if state == TaskState.COMPLETED:
        return 100.0
    weights = [planned.weight for planned in plan.stages]
    position = plan.index(stage)
    whole = sum(weights) or 1.0
    before = sum(weights[:position])
    here = weights[position] if position < len(weights) else 0.0
    share = (
        counts.share
        if counts.total == 1 and not counts.settled
        else (counts.settled / counts.total if counts.total else 0.0)
    )
    return round(100.0 * min(1.0, (before + here * share) / whole), 2)
