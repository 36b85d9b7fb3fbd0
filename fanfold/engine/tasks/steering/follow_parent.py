"""Brings subtasks in step with their parents: pause, resume, cancel and delete apply to them too.

A command writes the parent's row only, however many subtasks it has. These follow in transactions of their own, from the process
that gave the command and from every sweep, which finds them by the states of the rows alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from fanfold.engine.tasks.moving.transitions import Pipelines, left_for_later
from fanfold.engine.tasks.steering.commands import Commands
from fanfold.errors import BadInput, FanfoldError, IllegalMove, NotFound
from fanfold.model.awaited.subtask import following
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.sweep")
BATCH = 200
LEVELS = 20
"""Rounds at most: each brings one more level of subtasks in step, or the next of very many."""


class InStep(FanfoldError):
    """The subtask needs no such command, or no longer."""

    code = "in_step"


class FollowingCommands(Commands):
    """The commands that a subtask gets because of its parent. Each is checked again under the subtask's lock."""

    def _check(self, tx: Transaction, row: TaskRow, verb: str, named: bool) -> None:
        parent = None if row.parent is None else tx.tasks.get(row.parent)
        if verb == "delete":
            if parent is not None:
                raise InStep(row.id)
        elif following(row, parent, is_wanted=tx.subtasks.is_wanted(row.number)) != verb:
            raise InStep(row.id)
        super()._check(tx, row, verb, named)

    def _move(self, tx: Transaction, row: TaskRow, verb: str, target: TaskState, **values: Any) -> None:
        super()._move(tx, row, verb, target, **values, by_parent=True if verb in ("pause", "cancel") else None)


def follow_parents(
    store: Store,
    pipelines: Pipelines,
    actor: str,
    parent: int | None = None,
    is_late: Callable[[], bool] = lambda: False,
) -> int:
    """Pause, resume or cancel subtasks that are out of step, with all below them; returns how many moved.

    With ``parent``, begin with the subtasks of that task.
    """
    moved, waiting = 0, [parent]
    commands = FollowingCommands(store, pipelines, actor)
    for _ in range(LEVELS):
        if not waiting or is_late():
            break
        above = waiting.pop(0)
        with store.read() as tx:
            found = tx.subtasks.out_of_step(BATCH, above)
        followed = [number for number in found if not is_late() and _follow(commands, number)]
        moved += len(followed)
        waiting += followed if parent is not None else [None] if followed else []
    return moved


def _follow(commands: FollowingCommands, number: int) -> bool:
    """Bring one subtask in step; False if it is, or if its code is not known here."""
    with commands.store.read() as tx:
        row = tx.tasks.get(number)
        parent = None if row is None or row.parent is None else tx.tasks.get(row.parent)
        verb = None if row is None else following(row, parent, is_wanted=tx.subtasks.is_wanted(number))
    if row is None or verb is None:
        return False
    reason = _reason(verb, "" if parent is None else parent.id)
    try:
        with left_for_later(commands.store, commands.actor):
            commands.resume(number) if verb == "resume" else getattr(commands, verb)(number, reason)
            return True
    except (InStep, IllegalMove, NotFound) as problem:
        log.debug("[%s] %s does not follow its parent: %s", commands.actor, row.id, problem)
    except BadInput as problem:
        if problem.code != "mirror_needed":
            raise
        log.debug("[%s] %s is left to a worker that knows its pipeline", commands.actor, row.id)
    return False


def remove_subtasks(
    store: Store, pipelines: Pipelines, actor: str, parent: int, is_late: Callable[[], bool] = lambda: False
) -> bool:
    """Delete the subtasks of a deleted task, after a cancel where one is needed; True when none is left."""
    commands = FollowingCommands(store, pipelines, actor)
    while not is_late():
        with store.read() as tx:
            found = tx.subtasks.children(parent, BATCH)
        if not found:
            return True
        for number in found:
            _follow(commands, number)
        if not sum(_delete(commands, number) for number in found):
            return False  # Each still runs on_cancelled, or its code is not known here: the next sweep continues.
    return False


def _delete(commands: FollowingCommands, number: int) -> bool:
    try:
        commands.delete(number)
    except NotFound:
        return True
    except (InStep, IllegalMove, BadInput) as problem:
        log.debug("[%s] Subtask %s is deleted later: %s", commands.actor, number, problem)
        return False
    return True


def _reason(verb: str, parent: str) -> str:
    """Why a subtask is moved."""
    if verb == "pause":
        return say("parent_paused", task=parent)
    return say("parent_resumed", task=parent) if verb == "resume" else say("parent_cancelled", task=parent)
