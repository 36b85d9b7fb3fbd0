"""Tasks: the stored row and the public view."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from fanfold.model.item import Attempt
from fanfold.model.lifecycle import FINISHED_TASKS, OPEN_ITEMS, RETRIED_BY_NAME, ItemState, TaskState
from fanfold.model.money.batch import NONE_BATCHED, LaneCounts
from fanfold.model.money.questions import NOTHING_SPENT, Spending
from fanfold.model.plan import Kind, Plan


class TaskOrder(StrEnum):
    """The orders in which tasks are listed; each has an index."""

    NEWEST = "newest"
    OLDEST = "oldest"
    UPDATED = "updated"


@dataclass(frozen=True)
class TaskRow:
    """A task as stored."""

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
    """Grows with each rerun, and with each retry after a compensation: earlier work belongs to an earlier generation."""
    fingerprint: str | None = None
    """A hash of everything that was submitted: the same idempotency key must mean the same work."""
    lineage: str | None = None
    """The generations of redone splits, by stage (JSON); None in most tasks."""
    resetting: str | None = None
    """The token of a decided reset of many items that is not carried out yet; nothing is claimed meanwhile."""
    decided: int | None = None
    """The number of the last decision about its results; None if there is none."""
    sample: int | None = None
    """How many items of a stage are processed before the task is paused with an estimate; None for all."""
    start_at: datetime | None = None
    """When it starts; None once it has started."""
    notify: str | None = None
    """Its own receivers of webhooks (JSON): names, or addresses."""
    parent: int | None = None
    """The number of the task that it is a subtask of."""
    parent_item: int | None = None
    """The item of its parent that submitted it."""
    by_parent: bool | None = None
    """Whether it is paused or cancelled because its parent is."""
    closed_at: datetime | None = None
    """Since when no more items are claimed, because handlers have used up a budget with costs of their own."""

    @property
    def is_closed(self) -> bool:
        """Whether no more items are claimed until a budget is raised."""
        return self.closed_at is not None


@dataclass(frozen=True)
class StageView:
    """One stage of a task, for a progress display."""

    name: str
    kind: str
    total: int
    counts: dict[str, int]


@dataclass(frozen=True)
class Task:
    """The public view of a task: the row, its words, its progress and the possible commands."""

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
    """How many of its questions are in the batch lane, by state; counted only while items wait for them."""
    degraded: int = 0
    """How many of its items are done with a degraded result."""
    accepted: int = 0
    """How many of these a person has accepted."""
    held: int = 0
    """How many items of its stage wait for a person."""
    needs_you: str | None = None
    """Why it needs a person; None if it does not."""
    still_running: str | None = None
    """That a handler of it was told to stop and runs on, and in which worker; None if there is none."""
    changed_subtasks: str | None = None
    """That subtasks were redone after their results were used; None if none was, and in lists of tasks."""
    word: str = ""
    """Its state in the application's words; same as ``status``."""
    phase: str = ""
    """The current part of the work, in the application's words."""
    item_words: dict[str, str] = field(default_factory=dict)
    """The application's words for item states, where they differ from the state's name."""
    cursor: str = ""
    """Its position in the list, for ``after``; unlike its id, valid even after the task is deleted."""
    counted: str = ""
    """The stage whose items ``total``, ``done``, ``failed`` and ``open`` count: before a split is done, the split itself."""
    start_at: datetime | None = None
    """When it starts, if it was submitted for later; None once it has started."""
    parent: str | None = None
    """The id of the task that it is a subtask of."""
    parent_stage: str | None = None
    """The stage of the item that submitted it."""
    parent_item: str | None = None
    """The key of that item."""
    subtasks: dict[str, int] = field(default_factory=dict)
    """How many subtasks it has, by state."""
    asks: dict[str, Any] | None = None
    """What a person is asked at the gate where it waits, as a JSON Schema; None if nothing is asked."""
    sentences: dict[str, Any] = field(default_factory=dict, compare=False)
    """Codes and parameters of the texts that have them, by field; filled in JSON."""

    @property
    def counts_items(self) -> bool:
        """Whether the counts are of real items, such as pages, and not of a single step."""
        return any(stage.name == self.counted and stage.kind == Kind.EACH for stage in self.stages)

    @property
    def failed_step(self) -> str:
        """The stage that failed as a whole, such as a split (then the number of items is unknown); otherwise empty."""
        return self.counted if self.failed and not self.counts_items else ""

    @property
    def finished(self) -> bool:
        """Whether only a person can move it further."""
        return self.state in FINISHED_TASKS

    @property
    def plain_commands(self) -> tuple[str, ...]:
        """The ``available_commands`` that need only the task. A retry of done items needs their names."""
        retries = self.held or any(stage.counts.get(ItemState.FAILED) for stage in self.stages)
        by_name = self.state in RETRIED_BY_NAME and not retries
        return tuple(verb for verb in self.available_commands if verb != "retry" or not by_name)

    @property
    def unaccepted(self) -> int:
        """How many degraded results nobody has accepted."""
        return self.degraded - self.accepted

    @property
    def stalled(self) -> bool:
        """Whether it is active but all open items of its stage wait for a person."""
        if self.state is not TaskState.ACTIVE or not self.held:
            return False
        counts = next((stage.counts for stage in self.stages if stage.name == self.stage), {})
        return sum(counts.get(state, 0) for state in OPEN_ITEMS) <= self.held


@dataclass(frozen=True)
class Change:
    """A task's move, as passed to on_move inside the same transaction."""

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
    """Something that happened to a task: a move, a command, or an item's failure."""

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
    """Codes and parameters of the texts that have them, by field; filled in JSON."""


@dataclass(frozen=True)
class Cells:
    """The states of a stage's items in order, one letter each; in large stages one letter for each run of ``width`` items.

    The letter of a done item with a degraded result is ``g``.
    """

    stage: str
    total: int
    width: int
    letters: str


@dataclass(frozen=True)
class StageSpan:
    """A period in which a task was in a stage; a stage that was entered again has several."""

    stage: str
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True)
class WorkerPace:
    """How many items one worker settled in each span of time, the earliest first."""

    worker: str | None
    done: tuple[int, ...]
    failed: tuple[int, ...]


@dataclass(frozen=True)
class Timeline:
    """The history of a task: its stages, its workers' throughput, and the attempts that failed or were lost."""

    started_at: datetime
    ended_at: datetime
    seconds_per_span: float
    stages: tuple[StageSpan, ...]
    rows: tuple[WorkerPace, ...]
    attempts: tuple[Attempt, ...]
