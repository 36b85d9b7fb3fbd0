"""Writes files of an earlier result again after its task has merged anew; files that a person has edited are left alone."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fanfold.engine.installed import applications
from fanfold.errors import BadInput
from fanfold.model.lifecycle import TaskState

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.model.task import Task
    from fanfold.running.many_files.many import FileCommand
    from fanfold.running.many_files.saving import Saving


@dataclass
class Rewritten:
    """What became of the files of an earlier result."""

    written: list[str] = field(default_factory=list)
    """They hold the new result."""
    left: list[str] = field(default_factory=list)
    """A person has edited them, so they stay as they are."""
    unknown: list[str] = field(default_factory=list)
    """It is not known here how they are made from the result."""
    failed: dict[str, str] = field(default_factory=dict)
    """They could not be written, with the reason; the result is in the task."""


def rewrite(client: Client, task: Task, saving: Saving) -> Rewritten:
    """Write the result of a completed task to all the places where a command has saved it before."""
    done = Rewritten()
    places = saving.places_of(task.id)
    if task.state is not TaskState.COMPLETED or not places:
        return done
    command = command_of(task)
    for target, source in places.items():
        if command is None:
            done.unknown.append(str(target))
            continue
        stamp = f"{task.id} {task.finished_at}"
        placed = command.place(client.result(task.id), target)
        try:
            saved = saving.save(placed, target, source, again=True, stamp=stamp)
        except BadInput as problem:
            done.failed[str(target)] = problem.message
            continue
        done.left += saved.left
        done.written += [str(place) for place in placed.files if str(place) not in saved.left]
    return done


def command_of(task: Task) -> FileCommand | None:
    """The command that began the task, which its key names; None when its application is not installed."""
    name = (task.key or "").partition(":")[0].removesuffix("-unlocked")
    for target in _targets(name):
        module, _, function = target.partition(":")
        made: Any = getattr(importlib.import_module(module), function)()
        if made.pipeline.name == task.pipeline:
            found: FileCommand = made
            return found
    return None


def _targets(name: str) -> Iterator[str]:
    commands = (command for application in applications() for command in application.commands)
    return (command.files for command in commands if command.name == name and command.files)


def tell(done: Rewritten) -> list[str]:
    """A line for each file."""
    return [
        *(f"Rewritten: {name}" for name in done.written),
        *(f"{name} was edited since it was saved, and is left as it is" for name in done.left),
        *(f"{name} has the earlier result; run the command that saved it again" for name in done.unknown),
        *(f"{why} The new result is kept: run the command that saved it again" for why in done.failed.values()),
    ]
