"""How does a task change its state? In one place: the table is asked, the row written, the event kept, the mirror told."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fanfold.errors import BadInput, FanfoldError, IllegalMove
from fanfold.model import serial
from fanfold.model.lifecycle import TASK_MOVES, TaskState, targets
from fanfold.model.pipeline import Pipeline
from fanfold.model.task import Change, TaskRow
from fanfold.store.store import Transaction

Pipelines = Mapping[str, Pipeline]
log = logging.getLogger("fanfold.worker")


@contextmanager
def left_for_later(actor: str) -> Iterator[None]:
    """A move that the user's own on_move refuses is rolled back and left to the next sweep; the worker goes on."""
    try:
        yield
    except FanfoldError as error:
        if error.code != "mirror_failed":
            raise
        log.error("[%s] %s; trying again at the next sweep", actor, error)


def move(
    tx: Transaction,
    pipelines: Pipelines,
    row: TaskRow,
    verb: str,
    target: TaskState | None,
    *,
    actor: str,
    stage: str | None = None,
    reason: str | None = None,
    values: Mapping[str, Any] | None = None,
) -> None:
    """Make one move of a task whose row is locked. ``target`` None says that the task's row is about to go."""
    if target is not None:
        if target not in targets(TASK_MOVES, verb):
            raise IllegalMove(f"The table of moves has no {verb} to {target}.")
        tx.tasks.move(row.number, state=target.value, stage=stage or row.stage, **(values or {}))
    record(tx, pipelines, row, described(row, verb, row.state, target, actor, stage or row.stage, reason))
    if target is TaskState.ACTIVE:
        tx.announce()


def described(
    row: TaskRow, verb: str, source: str | None, target: str | None, actor: str, stage: str, reason: str | None = None
) -> Change:
    """A move as events and mirrors know it."""
    options, metadata = serial.load(row.options) or {}, serial.load(row.extra) or {}
    before, after = (None if state is None else str(state) for state in (source, target))
    return Change(row.id, row.pipeline, verb, before, after, stage, actor, reason, options, metadata)


def record(tx: Transaction, pipelines: Pipelines, row: TaskRow, change: Change) -> None:
    """Keep the event of a move and tell the mirror, in the move's own transaction."""
    kept = {name: getattr(change, name) for name in ("actor", "verb", "source", "target", "stage", "reason")}
    tx.events.add([{"task": row.number, **kept}])
    if not row.plan.mirrored:
        return
    mirror = mirror_of(pipelines, row)
    try:
        mirror(tx.connection, change)
    except FanfoldError:
        raise
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise FanfoldError(f"Task {row.id} was not moved, as on_move failed: {told}", code="mirror_failed") from error


def mirror_of(pipelines: Pipelines, row: TaskRow) -> Any:
    """The function that keeps the user's own record in step; without it the task must not be moved."""
    pipeline = pipelines.get(row.pipeline)
    if pipeline is None or pipeline.mirror is None:
        raise BadInput(
            f"Task {row.id} keeps a record of its own in step (on_move of {row.pipeline}), so its pipeline is needed here. "
            "Name it: --target module:pipeline",
            code="mirror_needed",
        )
    return pipeline.mirror


def can_move(pipelines: Pipelines, row: TaskRow) -> bool:
    """Whether this process knows what it takes to move the task."""
    return not row.plan.mirrored or (row.pipeline in pipelines and pipelines[row.pipeline].mirror is not None)
