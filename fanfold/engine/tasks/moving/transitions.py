"""The one place where a task changes its state: checks the table of moves, writes the row and the event, calls on_move."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from fanfold.engine.credits.settling import refund_undelivered
from fanfold.engine.redaction import without_keys
from fanfold.engine.webhooks.notices import tell
from fanfold.errors import BadInput, DatabaseProblem, FanfoldError, IllegalMove
from fanfold.model.lifecycle import FINISHED_TASKS, TASK_MOVES, TaskState, targets
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import Change, TaskRow
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.store.store import Store, Transaction

Pipelines = Mapping[str, Pipeline]
log = logging.getLogger("fanfold.worker")


ON_MOVE = "on_move"
"""Verb of the event for a move that was rolled back because on_move failed."""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
"""Seconds before a move that on_move refused is retried; doubled with each failure."""
PAUSES_DOUBLED = 7


class MirrorFailed(FanfoldError):
    """The user's on_move raised an exception, so the move was rolled back."""

    code = "mirror_failed"

    def __init__(self, row: TaskRow, error: Exception) -> None:
        self.number = row.number
        self.told = say("on_move_failed", error=f"{type(error).__name__}: {error}")
        super().__init__(say("not_moved", task=row.id, what=self.told))


@contextmanager
def left_for_later(store: Store, actor: str) -> Iterator[None]:
    """Roll back a move that the user's on_move refuses, and retry it after a pause; the worker continues.

    Until a move of the task succeeds, its wait reason says what on_move raised.
    """
    try:
        yield
    except MirrorFailed as error:
        pause = store.transact(partial(_note_refusal, error=error, actor=actor))
        log.error("[%s] %s; trying again in %g s", actor, error, pause)


def _note_refusal(tx: Transaction, error: MirrorFailed, actor: str) -> float:
    row = tx.tasks.lock(error.number)
    if row is None:
        return 0.0
    times, _ = tx.events.latest_run(row.number, ON_MOVE, PAUSES_DOUBLED)
    pause = pause_after(times + 1)
    if row.state is TaskState.ACTIVE:
        told = error.told.changed(_storable)
        tx.tasks.move(row.number, reason=say("on_move_again", what=told))
        reason = say("on_move_retried", what=told, seconds=pause)
        kept = described(row, ON_MOVE, row.state, row.state, actor, row.stage, reason)
        tx.events.add([{"task": row.number, **_told(kept)}])
    return pause


def pause_after(times: int) -> float:
    """Seconds to wait after on_move has failed ``times`` in a row."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(times - 1, PAUSES_DOUBLED))


def may_try(tx: Transaction, row: TaskRow) -> bool:
    """Whether a move may be tried now: not within the pause after on_move has refused one."""
    if not row.plan.mirrored or row.reason is None:
        return True
    times, last = tx.events.latest_run(row.number, ON_MOVE, PAUSES_DOUBLED)
    return last is None or (tx.time() - last).total_seconds() >= pause_after(times)


def _storable(text: str) -> str:
    """External text, made storable in any database."""
    plain = without_keys(text).replace("\0", "\N{REPLACEMENT CHARACTER}")
    return plain.encode("utf-8", "replace").decode("utf-8")[:1_000].rstrip(" .")


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
    """Make one move of a task whose row is locked. ``target`` None means that the task is about to be deleted."""
    if target is not None:
        if target not in targets(TASK_MOVES, verb):
            raise IllegalMove(say("no_such_move", verb=verb, state=target))
        # A move clears the reason why the task was paused or could not move; a pause sets its own reason.
        written = {**({} if target is TaskState.PAUSED else {"reason": None}), **(values or {})}
        # In its next state a task is open, unless it enters another stage that may spend.
        if row.closed_at is not None:
            written.setdefault("closed_at", None)
        if row.start_at is not None:  # Any move ends the wait for its start time.
            written["start_at"] = None
        # Whoever moves it now; while on_cancelled runs, it stays cancelled by its parent.
        if row.by_parent and verb != "advance":
            written = {"by_parent": None, **written}
        tx.tasks.move(row.number, state=target.value, stage=stage or row.stage, **written)
    record(tx, pipelines, row, described(row, verb, row.state, target, actor, stage or row.stage, reason))
    refund_undelivered(tx, row, target, actor)
    is_over = target is None or target in FINISHED_TASKS
    if is_over and row.parent_item is not None and tx.subtasks.ended(row.number, row.parent_item):
        tx.announce()
    if target is TaskState.ACTIVE:
        tx.announce()


def described(
    row: TaskRow, verb: str, source: str | None, target: str | None, actor: str, stage: str, reason: str | None = None
) -> Change:
    """A move as passed to events and on_move."""
    options, metadata = serial.load(row.options) or {}, serial.load(row.extra) or {}
    before, after = (None if state is None else str(state) for state in (source, target))
    return Change(row.id, row.pipeline, verb, before, after, stage, actor, reason, options, metadata)


def record(tx: Transaction, pipelines: Pipelines, row: TaskRow, change: Change) -> None:
    """Store the event of a move and call on_move, in the move's own transaction."""
    tx.events.add([{"task": row.number, **_told(change)}])
    tell(tx, row, change)
    if not row.plan.mirrored:
        return
    mirror = mirror_of(pipelines, row)
    try:
        mirror(tx.connection, change)
    except DatabaseProblem:
        raise
    except Exception as error:
        raise MirrorFailed(row, error) from error


def _told(change: Change) -> dict[str, Any]:
    """The values of the event of a change."""
    return {name: getattr(change, name) for name in ("actor", "verb", "source", "target", "stage", "reason")}


def mirror_of(pipelines: Pipelines, row: TaskRow) -> Any:
    """The user's on_move, which keeps their own records in step. A task must not move without it."""
    pipeline = pipelines.get(row.pipeline)
    if pipeline is None or pipeline.mirror is None:
        raise BadInput(
            say("mirror_needed", task=row.id, pipeline=row.pipeline),
            code="mirror_needed",
        )
    return pipeline.mirror


def can_move(pipelines: Pipelines, row: TaskRow) -> bool:
    """Whether this process has the code that moving the task needs."""
    return not row.plan.mirrored or (row.pipeline in pipelines and pipelines[row.pipeline].mirror is not None)
