"""Subtasks: tasks that a handler submits and whose results it waits for."""

from __future__ import annotations

from typing import NamedTuple

from fanfold.model.lifecycle import FINISHED_TASKS, TaskState
from fanfold.model.task import TaskRow

MOST_DEPTH = 8
"""How deep subtasks may be nested: a handler that submits its own pipeline must end somewhere."""
NAME_LENGTH = 63


class ParentItem(NamedTuple):
    """The item that submits a subtask, with the number of its task."""

    task: int
    item: int


class SubtaskRow(NamedTuple):
    """The subtask that an item has under a name, as stored."""

    name: str
    key: str
    child: int
    child_id: str
    told: bool
    """Whether its failure has made the item fail: if the item runs again, a person wants that."""


def following(row: TaskRow, parent: TaskRow | None, *, is_wanted: bool) -> str | None:
    """The command that brings a subtask in step with its parent; None if it is in step.

    ``is_wanted`` is False if its item has another subtask under its name now, or is gone.
    """
    if row.state in FINISHED_TASKS or row.ending is not None:
        return None
    gone = parent is None or TaskState.CANCELLED in (parent.state, parent.ending)
    if gone or not is_wanted:
        return "cancel"
    if parent is not None and parent.state is TaskState.PAUSED:
        return "pause" if row.state is TaskState.ACTIVE else None
    return "resume" if row.state is TaskState.PAUSED and row.by_parent else None
