"""What is a task? The record that people see."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fanfold.model.asking import NOTHING_SPENT, Spending
from fanfold.model.lifecycle import FINISHED_TASKS, TaskState
from fanfold.model.plan import Plan


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

    @property
    def finished(self) -> bool:
        """Whether it moves no further unless a person says so."""
        return self.state in FINISHED_TASKS


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
