"""What a task comes to when nothing disturbs it, worked out from its plan and options without the engine."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from fanfold.model.lifecycle import ItemState
from fanfold.model.plan import Plan, PlannedStage
from fanfold.model.progress import Counts
from fanfold.model.verdict import Verdict, verdict
from tests.simulation.handlers import added_by, in_order

ItemPlan = dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """One item on its way through the `each` stages of a phase."""

    position: int
    plan: ItemPlan
    value: str = ""

    @property
    def name(self) -> str:
        """What the item answers to."""
        return str(self.position) if self.plan["unkeyed"] else str(self.plan["key"])


@dataclass
class Expected:
    """Goes through the stages of one task as documented, and records the outcome of each item."""

    plan: Plan
    options: dict[str, Any]
    merged: bool
    """Whether a person merges the task wherever it stays partial."""
    items: dict[tuple[str, str], tuple[str, str | None]] = field(default_factory=dict)
    units: list[Unit] = field(default_factory=list)
    previous: tuple[Any, list[ItemPlan] | None] | None = None
    """The value and the plans that the last merge or step gave."""
    ordinal: int = 0
    """How many `each` stages were passed."""

    def summary(self) -> dict[str, Any]:
        """The state of the task in the end, and the state and value of each of its items."""
        return {"state": self._state(), "items": self.items}

    def _state(self) -> str:
        self.units = _numbered(self.options["items"])
        for stage in self.plan.stages:
            decision: Verdict = getattr(self, f"_{stage.kind.value}")(stage)
            goes_on = self.merged and self.plan.next_merge(stage.name) is not None
            if decision is Verdict.FAILED or (decision is Verdict.PARTIAL and not goes_on):
                return decision.value
        return "completed"

    def _note(self, stage: PlannedStage, name: str, value: Any, state: str = "done") -> None:
        self.items[stage.name, name] = (state, None if value is None else json.dumps(value))

    def _split(self, stage: PlannedStage) -> Verdict:
        given = self.previous[1] if self.previous is not None else None
        plans = self.options["items"] if given is None else given
        if collide(plans):
            self._note(stage, "1", None, "failed")
            return Verdict.FAILED
        self.units = _numbered(plans)
        self._note(stage, "1", None)
        return Verdict.CONTINUE

    def _each(self, stage: PlannedStage) -> Verdict:
        done: list[Unit] = []
        units = list(self.units)
        for unit in units:  # Grows while it is read.
            if unit.plan["hopeless"] == self.ordinal:
                self._note(stage, unit.name, None, "failed")
            else:
                made = Unit(unit.position, unit.plan, f"{unit.value}/{stage.name}:{unit.name}")
                self._note(stage, unit.name, made.value)
                done.append(made)
                known = {one.name for one in units}
                new = [child for child in added_by(unit.plan) if self.ordinal == 0 and child["key"] not in known]
                units += [Unit(0, child) for child in new]
        failed = len(units) - len(done)
        done = [one for _, one in in_order([(unit.name, unit) for unit in done])]
        self.units, self.ordinal = done, self.ordinal + 1
        return verdict(stage, Counts({ItemState.DONE: len(done), ItemState.FAILED: failed}))

    def _merge(self, stage: PlannedStage) -> Verdict:
        value = [(unit.name, unit.value) for unit in self.units]
        self._note(stage, "1", value)
        self.previous = (value, [unit.plan for unit in self.units])
        return Verdict.CONTINUE

    def _step(self, stage: PlannedStage) -> Verdict:
        value, plans = self.previous or (None, None)
        self._note(stage, "1", [value, stage.name])
        self.previous = ([value, stage.name], plans)
        return Verdict.CONTINUE


def collide(plans: list[ItemPlan]) -> bool:
    """Whether two of the items would answer to the same name."""
    return any(many > 1 for many in Counter(unit.name for unit in _numbered(plans)).values())


def _numbered(plans: list[ItemPlan]) -> list[Unit]:
    return [Unit(position, plan) for position, plan in enumerate(plans, 1)]
