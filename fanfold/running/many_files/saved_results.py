"""Rewrites saved result files after their task has merged again. Files that a person has edited are left alone."""

from __future__ import annotations

import importlib
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.engine.installed import applications
from fanfold.errors import BadInput
from fanfold.model.lifecycle import TaskState

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.model.task import Task
    from fanfold.running.many_files.many import FileCommand
    from fanfold.running.many_files.saving import Saving

STALE = "still has the earlier result"


@dataclass
class Rewritten:
    """Outcome for each saved file of an earlier result."""

    written: list[str] = field(default_factory=list)
    """Files that now hold the new result."""
    left: list[str] = field(default_factory=list)
    """Files left as they are because a person edited them."""
    unknown: list[str] = field(default_factory=list)
    """Files whose command is not installed here, so that they cannot be made from the result."""
    failed: dict[str, str] = field(default_factory=dict)
    """Files that could not be written, with the reason; the task keeps the result."""


def rewrite(client: Client, task: Task, saving: Saving) -> Rewritten:
    """Write the result of a completed task to every place where a command saved it before."""
    done = Rewritten()
    places = saving.places_of(task.id)
    if task.state is not TaskState.COMPLETED or not places:
        return done
    command = command_of(task)
    for target, source in places.items():
        if command is None:
            done.unknown.append(str(target))
            continue
        placed, stamp = command.place(client.result(task.id), target), stamp_of(task)
        try:
            saved = saving.save(placed, target, source, again=True, stamp=stamp)
        except BadInput as problem:
            done.failed[str(target)] = problem.message
            continue
        done.left += saved.left
        done.written += [str(place) for place in placed.files if str(place) not in saved.left]
    return done


def stamp_of(task: Task) -> str:
    """Identifies a result of a task: a repeated merge makes another."""
    return f"{task.id} {task.finished_at}"


def outdated(task: Task, saving: Saving) -> list[str]:
    """A line for each saved file that does not hold the current result of a task, with the command that writes it."""
    stale = [place for place in saving.places_of(task.id) if not saving.is_of(place, stamp_of(task))]
    command = command_of(task) if stale else None
    return [f"{place} {STALE}; {_way_to_renew(command, task, place)}" for place in stale]


def _way_to_renew(command: FileCommand | None, task: Task, place: Path) -> str:
    if command is None or not command.renewed_by:
        return "repeat the command that saved it"
    return f"for the new one: fanfold {command.renewed_by.format(task=task.id, file=shlex.quote(str(place)))}"


def command_of(task: Task) -> FileCommand | None:
    """The command named in the task's key, or another one of its pipeline; None if its application is not installed."""
    name = (task.key or "").partition(":")[0].removesuffix("-unlocked")
    for target in _targets(name):
        module, _, function = target.partition(":")
        made: Any = getattr(importlib.import_module(module), function)()
        if made.pipeline.name == task.pipeline:
            found: FileCommand = made
            return found
    return None


def _targets(name: str) -> list[str]:
    """Where the commands that save results are defined, the one with this name first."""
    commands = [command for application in applications() for command in application.commands if command.files]
    return [command.files for command in sorted(commands, key=lambda command: command.name != name)]


def tell(done: Rewritten) -> list[str]:
    """A line for each file."""
    return [
        *(f"Rewritten: {name}" for name in done.written),
        *(f"{name} was edited after it was saved and is left unchanged" for name in done.left),
        *(f"{name} {STALE}; repeat the command that saved it" for name in done.unknown),
        *(f"{why} The task keeps the new result: repeat the command that saved it" for why in done.failed.values()),
    ]
