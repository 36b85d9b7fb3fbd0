"""What is a task? The record that people see."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from fanfold.model.batch import NONE_BATCHED, LaneCounts
from fanfold.model.item import Attempt
from fanfold.model.lifecycle import FINISHED_TASKS, OPEN_ITEMS, RETRIED_BY_NAME, ItemState, TaskState
from fanfold.model.plan import Kind, Plan
from fanfold.model.values.questions import NOTHING_SPENT, Spending


class TaskOrder(StrEnum):
    """The orders in which tasks are listed; each has an index."""

    NEWEST = "newest"
    OLDEST = "oldest"
    UPDATED = "updated"


@dataclass(frozen=True)
class TaskRow:
    """A task as the store keeps it."""

    number: int
    id: str
    pipeline: str
    title: str
    state: TaskState
    stage: str
    plan: Plan
    input: str | None
    options: str | None
    extra: str | None
    owner: str
    priority: int
    tags: tuple[str, ...]
    key: str | None
    retry_limit: int | None
    ending: str | None
    reason: str | None
    error_code: str | None
    error_message: str | None
    missing: int
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    generation: int = 0
    """Grows with each rerun, and with each retry after a compensation: what was done before belongs to an earlier one."""
    fingerprint: str | None = None
    """A hash of everything that was submitted: the same idempotency key must mean the same work."""
    lineage: str | None = None
    """The generations of splits that were done again, by stage (JSON); none in most tasks."""
    resetting: str | None = None
    """The token of a reset of many items that is decided, but not yet carried out; nothing is claimed meanwhile."""
    decided: int | None = None
    """The number of the last decision about its results; None when there is none."""


@dataclass(frozen=True)
class StageView:
    """One stage of a task, for a progress display."""

    name: str
    kind: str
    total: int
    counts: dict[str, int]


@dataclass(frozen=True)
class Task:
    """A task as people see it: the row, its words, its progress and what may be done with it."""

    id: str
    pipeline: str
    title: str
    state: TaskState
    status: str
    stage: str
    stages: tuple[StageView, ...]
    progress: float
    message: str | None
    total: int
    done: int
    failed: int
    open: int
    options: dict[str, Any]
    metadata: dict[str, Any]
    owner: str
    priority: int
    tags: tuple[str, ...]
    key: str | None
    retries: int
    retry_limit: int | None
    wait_reason: str | None
    available_commands: tuple[str, ...]
    error_code: str | None
    error_message: str | None
    missing: int
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    inputs: tuple[Any, ...] = field(default=())
    spending: Spending = NOTHING_SPENT
    batched: LaneCounts = NONE_BATCHED
    """How many of its questions are in the batch lane, while some of its items wait."""
    degraded: int = 0
    """How many of its items are done, but not as they were asked for."""
    accepted: int = 0
    """How many of these a person keeps as they are."""
    held: int = 0
    """How many items of its stage wait for a person."""
    needs_you: str | None = None
    """Why a person should look at it; None when it gets on without one."""
    word: str = ""
    """Its state in the words of its application; ``status`` is the same."""
    phase: str = ""
    """The part of the work that it is in, in the words of its application."""
    item_words: dict[str, str] = field(default_factory=dict)
    """What its application calls the states of items, where that is not the state's own name."""
    cursor: str = ""
    """Its place in the list, for ``after``; unlike its id it still names that place when the task was deleted."""
    counted: str = ""
    """The stage whose items ``total``, ``done``, ``failed`` and ``open`` count: before a split is done, the split itself."""
    sentences: dict[str, Any] = field(default_factory=dict, compare=False)
    """The codes and parameters of those texts that Fanfold or an application made, by field; filled in JSON."""

    @property
    def counts_items(self) -> bool:
        """Whether the counts are of what people call items, such as pages, and not of a step by itself."""
        return any(stage.name == self.counted and stage.kind == Kind.EACH for stage in self.stages)

    @property
    def failed_step(self) -> str:
        """The stage that failed as a whole, such as a split: how many items there are is not known then; else empty."""
        return self.counted if self.failed and not self.counts_items else ""

    @property
    def finished(self) -> bool:
        """Whether it moves no further unless a person says so."""
        return self.state in FINISHED_TASKS

    @property
    def plain_commands(self) -> tuple[str, ...]:
        """Those of ``available_commands`` that need nothing but the task: to redo done items, a retry needs their names."""
        retries = self.held or any(stage.counts.get(ItemState.FAILED) for stage in self.stages)
        by_name = self.state in RETRIED_BY_NAME and not retries
        return tuple(verb for verb in self.available_commands if verb != "retry" or not by_name)

    @property
    def unaccepted(self) -> int:
        """How many degraded results nobody has accepted."""
        return self.degraded - self.accepted

    @property
    def stalled(self) -> bool:
        """Whether it is active, but all that is left of its stage waits for a person."""
        if self.state is not TaskState.ACTIVE or not self.held:
            return False
        counts = next((stage.counts for stage in self.stages if stage.name == self.stage), {})
        return sum(counts.get(state, 0) for state in OPEN_ITEMS) <= self.held


@dataclass(frozen=True)
class Change:
    """A task's move, as told to a mirror function inside the same transaction."""

    task_id: str
    pipeline: str
    verb: str
    source: str | None
    target: str | None
    stage: str
    actor: str
    reason: str | None
    options: dict[str, Any]
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Event:
    """Something that happened to a task: a move, a command, or an item's mishap."""

    id: int
    task_id: str
    at: datetime
    actor: str
    verb: str
    source: str | None
    target: str | None
    stage: str | None
    item: str | None
    reason: str | None
    sentences: dict[str, Any] = field(default_factory=dict, compare=False)
    """The codes and parameters of those texts that Fanfold or an application made, by field; filled in JSON."""


@dataclass(frozen=True)
class Cells:
    """The items of a stage in order, one letter for the state of each; or of each run of ``width`` items, for large stages.

    The letter of an item that is done, but not as it was asked for, is ``g``.
    """

    stage: str
    total: int
    width: int
    letters: str


@dataclass(frozen=True)
class StageSpan:
    """How long a task was in a stage; a stage that was entered again has several spans."""

    stage: str
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True)
class WorkerPace:
    """What one worker has settled in each span of time, the earliest first."""

    worker: str | None
    done: tuple[int, ...]
    failed: tuple[int, ...]


@dataclass(frozen=True)
class Timeline:
    """How a task went: its stages, what its workers have settled when, and the attempts that failed or were lost."""

    started_at: datetime
    ended_at: datetime
    seconds_per_span: float
    stages: tuple[StageSpan, ...]
    lanes: tuple[WorkerPace, ...]
    attempts: tuple[Attempt, ...]
