"""The plan of a task: the stages of its pipeline as plain data, stored with the task at submit.

With its plan, any process can advance, show or recover a task without the pipeline's code, and new code deployed meanwhile
does not change the stages of tasks in progress.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import groupby, takewhile

from fanfold.errors import NotFound
from fanfold.model.text.sentences import say


class Kind(StrEnum):
    """Kind of a stage: one item (step, split, merge), or N (each)."""

    STEP = "step"
    SPLIT = "split"
    EACH = "each"
    MERGE = "merge"


ON_FAILED = "on_failed"
ON_CANCELLED = "on_cancelled"


@dataclass(frozen=True)
class PlannedStage:
    """The data about a stage that every process needs to move tasks through it and to show it."""

    name: str
    kind: Kind
    gate: bool = False
    ready: str = "pending"
    doing: str = "running"
    tolerate: float = 0
    fail_fast: bool = False
    weight: float = 5
    passed: int = 0
    """How many failures a person has accepted: unless there are more, the stage stays passed."""
    crash_limit: int | None = None
    """How often an item may be lost with its process without progress; None: as in the settings."""
    takes: float = 0
    """Seconds that a call usually takes; a tick with less time left does not start one."""
    retrying: str = "retrying"
    """The word for a task whose only item of this stage waits for its next try."""
    phase: str = ""
    """The application's name for this part of the work; by default the stage's name."""
    quiet_seconds: float = 0.5
    """How long after the last decision a merge runs again."""
    spends: bool = True
    """Whether its handler may report costs of its own. If not, the stage also runs when they have used up the budget."""
    asks: str = ""
    """The options that a person answers at its gate (JSON, see `model.pipelines.gates`); empty if the gate only waits."""

    @property
    def needs_answer(self) -> bool:
        """Whether its gate asks something: then only `resume`, with an answer, passes it."""
        return self.gate and bool(self.asks)

    def tolerated(self, total: int) -> int:
        """How many of ``total`` items may fail without stopping the task: a share below 1, a number otherwise."""
        agreed = int(total * self.tolerate + 1e-9) if 0 < self.tolerate < 1 else int(self.tolerate)
        return max(agreed, self.passed)


@dataclass(frozen=True)
class Plan:
    """The stages of one task, in order, and the steps that follow a failure or a cancel."""

    stages: tuple[PlannedStage, ...]
    on_failed: bool = False
    on_cancelled: bool = False
    mirrored: bool = False
    task_words: tuple[tuple[str, str], ...] = ()
    """Pairs of the usual word for a task and the application's word."""
    item_words: tuple[tuple[str, str], ...] = ()
    """The application's words for the states of items."""
    done_phase: str = "done"
    priced: bool = False
    """Whether credits were charged for the task."""
    repriced: bool = False
    """Whether a retry has changed the options of the task, and with them what it costs."""

    def item_word(self, stage: str, state: str) -> str:
        """The application's word for the state of an item: the one for its stage, or the one for all stages."""
        words = dict(self.item_words)
        return words.get(f"{stage}.{state}") or words.get(state, state)

    def words_of_items(self, stage: str) -> dict[str, str]:
        """The application's words for the states of items in a stage."""
        words = dict(self.item_words)
        own = {name.removeprefix(f"{stage}."): word for name, word in words.items() if name.startswith(f"{stage}.")}
        return {name: word for name, word in words.items() if "." not in name} | own

    def stage(self, name: str) -> PlannedStage:
        """The stage with this name, including compensations."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        if name in (ON_FAILED, ON_CANCELLED):
            return PlannedStage(name, Kind.STEP, ready="compensating", doing="compensating", weight=0)
        raise NotFound(say("no_stage", stage=name, stages=[one.name for one in self.stages]))

    def after(self, name: str) -> PlannedStage | None:
        """The next stage, or None after the last one and after a compensation."""
        names = [stage.name for stage in self.stages]
        if name not in names:
            return None
        follower = names.index(name) + 1
        return self.stages[follower] if follower < len(names) else None

    def before(self, name: str) -> PlannedStage | None:
        """The previous stage, or None for the first one and for a compensation."""
        names = [stage.name for stage in self.stages]
        if name not in names or names.index(name) == 0:
            return None
        return self.stages[names.index(name) - 1]

    def last_each(self, name: str) -> PlannedStage | None:
        """The nearest `each` stage before ``name``: the one whose results a merge reads."""
        stage = self.before(name)
        while stage is not None and stage.kind is not Kind.EACH:
            stage = self.before(stage.name)
        return stage

    def next_merge(self, name: str) -> PlannedStage | None:
        """The first merge after a stage, if any."""
        behind = self.stages[self.index(name) + 1 :]
        return next((stage for stage in behind if stage.kind is Kind.MERGE), None)

    def last_merge(self) -> PlannedStage | None:
        """The last merge, if any."""
        return next((stage for stage in reversed(self.stages) if stage.kind is Kind.MERGE), None)

    def merge_to_repeat(self, name: str) -> PlannedStage | None:
        """The merge to repeat after decisions, for a task that is in stage ``name`` or ended there.

        In a merge, it is that merge. After the last merge, the task goes back to it if only steps follow: items made from its
        result would have to be redone. Before it, none: the merge is yet to come.
        """
        if self.stage(name).kind is Kind.MERGE:
            return self.stage(name)
        last = self.last_merge()
        if last is None or self.index(name) < self.index(last.name):
            return None
        behind = self.stages[self.index(last.name) + 1 :]
        return last if all(stage.kind is Kind.STEP for stage in behind) else None

    def followers(self, name: str) -> list[str]:
        """The `each` stages whose items are made one-to-one from those of the `each` stage ``name``."""
        behind = self.stages[self.index(name) + 1 :] if self.stage(name).kind is Kind.EACH else ()
        return [stage.name for stage in takewhile(lambda stage: stage.kind is Kind.EACH, behind)]

    def chains(self, until: str | None = None) -> list[list[str]]:
        """Runs of consecutive `each` stages before ``until``, as lists of names."""
        before = self.stages if until is None else self.stages[: self.index(until)]
        runs = groupby(before, key=lambda stage: stage.kind is Kind.EACH)
        return [[stage.name for stage in run] for is_each, run in runs if is_each]

    def leading_to(self, each: str) -> list[str]:
        """The `each` stages that lead directly to this one, and whose items it continues."""
        [chain] = [chain for chain in self.chains() if each in chain]
        return chain[: chain.index(each)]

    def passing(self, failed: Mapping[str, int]) -> Plan:
        """The same plan with these numbers of failures accepted in the named stages."""
        kept = (replace(stage, passed=failed.get(stage.name, stage.passed)) for stage in self.stages)
        return replace(self, stages=tuple(kept))

    def index(self, name: str) -> int:
        """The position of a stage; compensations come after all others."""
        names = [stage.name for stage in self.stages]
        return names.index(name) if name in names else len(names)

    def without_gates(self) -> Plan:
        """The same plan without gates."""
        return replace(self, stages=tuple(replace(stage, gate=False) for stage in self.stages))

    def to_json(self) -> str:
        """The plan as stored in the task's row."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that ``to_json`` wrote; fields added by a newer version are ignored."""
        found = json.loads(text)
        known = PlannedStage.__dataclass_fields__
        stages = tuple(
            PlannedStage(
                **{name: value for name, value in stage.items() if name in known} | {"kind": Kind(stage["kind"])}
            )
            for stage in found["stages"]
        )
        task_words, item_words = (
            tuple((usual, own) for usual, own in found.get(name, ())) for name in ("task_words", "item_words")
        )
        return cls(
            stages,
            found["on_failed"],
            found["on_cancelled"],
            found["mirrored"],
            task_words,
            item_words,
            found.get("done_phase", "done"),
            found.get("priced", False),
            found.get("repriced", False),
        )
