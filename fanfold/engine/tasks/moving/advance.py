"""Advances a task when its stage is over, at once and exactly once: probed after the commit, decided under the row's lock."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from fanfold.engine.tasks.many_items.leftovers import Leftovers, NotReady, clear, retire
from fanfold.engine.tasks.many_items.new_items import NewItems
from fanfold.engine.tasks.moving.counts import COPIED, Ahead, OutOfDate, StageCounts, count_ahead
from fanfold.engine.tasks.moving.merge_again import merge_again, overdue_merge
from fanfold.engine.tasks.moving.sampling import end_sample, is_stopped
from fanfold.engine.tasks.moving.transitions import Pipelines, can_move, may_try, move
from fanfold.engine.tasks.moving.used_up import closed_on_entering
from fanfold.engine.telemetry.telling import left_stage
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.plan import ON_CANCELLED, ON_FAILED, Kind, PlannedStage
from fanfold.model.progress import Counts
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import Sentence, joined, say
from fanfold.model.verdict import Verdict, verdict
from fanfold.store.items.large.copy import COPY_CHUNK
from fanfold.store.store import Store, Transaction


class LargeCopy(NotReady):
    """Many items must be copied into the next stage, in separate transactions, before the task moves."""

    def __init__(self, task: int, source: str, target: str, event: int) -> None:
        super().__init__(f"the items of {source} must be copied into {target}")
        self.task = task
        self.source = source
        self.target = target
        self.event = event
        """The task's newest event when the copy became necessary. Any later event may make it unnecessary."""


COUNTINGS = 3
"""Maximum recounts if the task moves meanwhile; after that the caller decides whether to continue."""


def advance(store: Store, pipelines: Pipelines, number: int, actor: str) -> TaskState | None:
    """Advance a task if its stage is over; returns its new state, or None if there was nothing to do.

    NotReady if many items must be copied or removed first, or the task is steered all the time; see `copy_items.move_on`.
    """
    for counting in range(1, COUNTINGS + 1):
        ahead = _look_ahead(store, pipelines, number)
        if ahead is None:
            return None
        if isinstance(ahead, TaskRow):
            return store.transact(partial(end_sample, pipelines, actor, ahead.number))
        try:
            moved = store.transact(partial(decide, pipelines, actor, ahead))
            return left_stage(store.settings, ahead.row, moved)
        except OutOfDate:
            if counting == COUNTINGS:
                raise
    return None


def _look_ahead(store: Store, pipelines: Pipelines, number: int) -> Ahead | TaskRow | None:
    with store.read() as tx:
        row = tx.tasks.get(number)
        return None if row is None else look_ahead(tx, pipelines, row)


def look_ahead(tx: Transaction, pipelines: Pipelines, row: TaskRow) -> Ahead | TaskRow | None:
    """The counts of a task whose stage is over; the row of one whose sample is over; None if there is nothing to decide."""
    number = row.number
    if row.state is not TaskState.ACTIVE or not can_move(pipelines, row):
        return None
    if row.resetting is not None or not may_try(tx, row):
        return None
    sampled = row if is_stopped(tx, row) else None
    if tx.items.is_open(number, row.stage) and not row.plan.stage(row.stage).fail_fast:
        return sampled
    ahead = count_ahead(tx, row)
    return sampled if ahead.decision is Verdict.OPEN else ahead


def decide(pipelines: Pipelines, actor: str, ahead: Ahead, tx: Transaction) -> TaskState | None:
    """Lock the task, and advance it if what was counted ahead still holds."""
    row = tx.tasks.lock(ahead.row.number)
    if row is None or row.state is not TaskState.ACTIVE:
        return None
    return advance_locked(tx, pipelines, row, actor, ahead=ahead)


def advance_locked(
    tx: Transaction,
    pipelines: Pipelines,
    row: TaskRow,
    actor: str,
    new_items: NewItems | None = None,
    ahead: Ahead | None = None,
) -> TaskState | None:
    """Decide and move, under the task's lock. ``new_items`` are those of a split that has just finished.

    While many items are being reset, the task stays: the process that carries out the reset wakes the workers.
    """
    if row.resetting is not None:
        return None
    stage = row.plan.stage(row.stage)
    counts = StageCounts(tx, row, ahead)
    here = counts.of(stage.name)
    decision = verdict(stage, here)
    waits = not (stage.fail_fast and decision is Verdict.FAILED)
    # Leave a stage only if it has no open item now, regardless of earlier counts.
    if decision is Verdict.OPEN or (waits and tx.items.is_open(row.number, stage.name)):
        return None
    if row.ending is not None:
        return _end_compensation(tx, pipelines, row, actor, counts, decision)
    if decision is Verdict.CONTINUE:
        merge = overdue_merge(tx, row)
        if merge is not None and merge_again(tx, pipelines, row, merge, actor, "decisions came while it merged"):
            return TaskState.ACTIVE
        values: dict[str, Any] = {}
        failed = here[ItemState.FAILED]
        if stage.passed > failed:  # Failures that were fixed since then must not count as accepted for new ones.
            row = replace(row, plan=row.plan.passing({stage.name: failed}))
            values = {"plan": row.plan.to_json()}
        if new_items is not None and new_items.generation:  # Redone items need new keys.
            known = json.loads(row.lineage) if row.lineage else {}
            # Later splits run again, and count from the start.
            before = {name: count for name, count in known.items() if row.plan.index(name) < row.plan.index(stage.name)}
            values["lineage"] = json.dumps(before | {stage.name: new_items.generation})
        following = row.plan.after(stage.name)
        return enter(
            tx,
            pipelines,
            row,
            following,
            actor=actor,
            verb="advance",
            new_items=new_items,
            values=values,
            counts=counts,
        )
    return _stop(tx, pipelines, row, actor, stage, counts, here, decision)


def _stop(
    tx: Transaction,
    pipelines: Pipelines,
    row: TaskRow,
    actor: str,
    stage: PlannedStage,
    counts: StageCounts,
    here: Counts,
    decision: Verdict,
) -> TaskState:
    """Too much of a stage has failed: the task waits for a person, or fails."""
    failed = here[ItemState.FAILED]
    if decision is Verdict.FAILED:
        return fail(tx, pipelines, row, actor, _why(counts, stage, failed))
    reason = say("some_failed", count=failed, total=here.total, stage=stage.name)
    move(
        tx,
        pipelines,
        row,
        "advance",
        TaskState.PARTIAL,
        actor=actor,
        stage=stage.name,
        reason=reason,
        values={"error_code": "partial", "error_message": reason},
    )
    return TaskState.PARTIAL


def enter(
    tx: Transaction,
    pipelines: Pipelines,
    row: TaskRow,
    stage: PlannedStage | None,
    *,
    actor: str,
    verb: str,
    new_items: NewItems | None = None,
    through_gate: bool = False,
    put_back: bool = False,
    values: Mapping[str, Any] | None = None,
    counts: StageCounts | None = None,
    begun: bool | None = None,
) -> TaskState:
    """Enter a stage and make its items visible in the same transaction. Skip empty stages; complete the task after the last one.

    With ``put_back`` the items of the stage already exist and start over; ``begun`` says, if known, whether any of them was
    ever claimed.
    """
    counts = counts or StageCounts(tx, row, None)
    started: dict[str, Any] = (
        {} if row.started_at else {"started_at": tx.items.first_started_at(row.number, row.plan.stages[0].name)}
    )
    cleared: dict[str, Any] = {
        "error_code": None,
        "error_message": None,
        "reason": None,
        "ending": None,
        **(values or {}),
    }
    while stage is not None:
        stops = stage.gate and not through_gate and not _passed_gate(counts, stage, new_items, put_back, begun)
        if put_back or make_items(tx, row, stage, new_items, counts.event):
            target = TaskState.WAITING if stops else TaskState.ACTIVE
            written = cleared | started | {"missing": counts.missing(stage.name)}
            if verb == "advance" and target is TaskState.ACTIVE:
                written |= closed_on_entering(tx, row, stage)
            move(tx, pipelines, row, verb, target, actor=actor, stage=stage.name, values=written)
            return target
        left = counts.just_entered(stage.name)
        decision = verdict(stage, left)
        if verb == "advance" and decision is not Verdict.CONTINUE:  # Empty, but its failures are not accepted.
            return _stop(tx, pipelines, row, actor, stage, counts, left, decision)
        new_items, stage = None, row.plan.after(stage.name)
    last = row.plan.stages[-1].name
    written = cleared | started | {"missing": counts.missing(None)}
    move(tx, pipelines, row, verb, TaskState.COMPLETED, actor=actor, stage=last, values=written)
    return TaskState.COMPLETED


def _passed_gate(
    counts: StageCounts, stage: PlannedStage, new_items: NewItems | None, put_back: bool, begun: bool | None
) -> bool:
    """Whether a person has already let the task through the gate of a stage.

    One that asks is asked again whenever the task comes to it: the answer was given to what an earlier stage made before.
    """
    if stage.asks:
        return False
    if put_back and stage.kind is not Kind.EACH:
        return False
    if new_items is not None and new_items.begun:
        return True
    return counts.have_begun(stage.name) if begun is None else begun


def make_items(
    tx: Transaction,
    row: TaskRow,
    stage: PlannedStage,
    new_items: NewItems | None = None,
    event: int | None = None,
) -> bool:
    """Make the items of a stage that starts, or starts again; False if there are none to process.

    The items of a split replace those of an earlier split of the same task; Leftovers if these still exist. LargeCopy if
    there are more items to copy than fit into one short transaction. ``event`` is the task's newest event before this
    transaction, if the transaction has added some.
    """
    if stage.kind is not Kind.EACH:
        if tx.items.exist(row.number, stage.name):
            tx.resetting.reopen(row.number, stage.name, redo=True)
        else:
            clear(tx, row.number, stage.name)
            tx.items.add(row.number, stage.name, [(None, None)])
        return True
    before = row.plan.before(stage.name)
    if new_items is not None:
        later = [planned.name for planned in row.plan.stages[row.plan.index(stage.name) :]]
        if new_items.token is not None:
            tx.drafts.end(row.number, later)
        elif tx.drafts.leftovers(row.number, later):
            raise Leftovers(row.number, later)
        else:
            tx.items.add(row.number, stage.name, new_items)
    elif before is not None and before.kind is Kind.EACH:
        draft = tx.drafts.hidden(row.number).get(stage.name)
        event = tx.events.last(row.number) if event is None else event
        if draft is not None and draft.token == f"{COPIED}{event}":
            tx.drafts.end(row.number, [stage.name])
        elif (
            draft is not None
            or tx.items.last_position(row.number, before.name) > COPY_CHUNK
            or not tx.items.copy(row.number, before.name, stage.name)
        ):
            raise LargeCopy(row.number, before.name, stage.name, event)
    return tx.items.is_open(row.number, stage.name)


def fail(tx: Transaction, pipelines: Pipelines, row: TaskRow, actor: str, why: str, code: str = "failed") -> TaskState:
    """Fail the task for good, after a compensation if its pipeline has one, once per generation."""
    if row.plan.on_failed and compensate(tx, row, ON_FAILED):
        move(
            tx,
            pipelines,
            row,
            "advance",
            TaskState.ACTIVE,
            actor=actor,
            stage=ON_FAILED,
            reason=why,
            values={"ending": TaskState.FAILED.value, "error_code": code, "error_message": why},
        )
        return TaskState.ACTIVE
    move(
        tx,
        pipelines,
        row,
        "advance",
        TaskState.FAILED,
        actor=actor,
        reason=why,
        values={"error_code": code, "error_message": why},
    )
    return TaskState.FAILED


def compensate(tx: Transaction, row: TaskRow, stage: str) -> bool:
    """Make the one item of a compensation; False if this generation of the task was already compensated."""
    if compensated(tx, row):
        return False
    if not tx.items.exist(row.number, stage):
        clear(tx, row.number, stage)
        tx.items.add(row.number, stage, [(None, None)])
    else:
        tx.resetting.reopen(row.number, stage)
    return True


def compensated(tx: Transaction, row: TaskRow) -> bool:
    """Whether this generation has been compensated; a new generation has not."""
    return any(tx.items.any_in(row.number, stage, (ItemState.DONE,)) for stage in (ON_FAILED, ON_CANCELLED))


def new_generation(tx: Transaction, row: TaskRow) -> dict[str, Any]:
    """Start a new generation: it gets new idempotency keys and its own compensation."""
    retire(tx, row.number, [ON_FAILED, ON_CANCELLED])
    return {"generation": row.generation + 1, "lineage": None}


def unfinished_stage(row: TaskRow, counts: Mapping[str, Counts]) -> str:
    """The first stage with unfinished items or, if all are done, the last stage entered. Stages without items are skipped."""
    entered = [stage.name for stage in row.plan.stages if counts.get(stage.name, Counts()).total]
    undone = (name for name in entered if counts[name][ItemState.DONE] < counts[name].total)
    return next(undone, entered[-1] if entered else row.plan.stages[0].name)


def _end_compensation(
    tx: Transaction, pipelines: Pipelines, row: TaskRow, actor: str, counts: StageCounts, decision: Verdict
) -> TaskState:
    target = TaskState(row.ending or TaskState.FAILED)
    values: dict[str, str | None] = {"ending": None}
    reason = say("step_done", stage=row.stage)
    if decision is not Verdict.CONTINUE:
        reason = say("step_failed", stage=row.stage, why=_why(counts, row.plan.stage(row.stage), 1))
        values |= {
            "error_code": f"{row.stage}_failed",
            "error_message": joined(filter(None, (row.error_message, reason))),
        }
    move(
        tx,
        pipelines,
        row,
        "advance",
        target,
        actor=actor,
        stage=unfinished_stage(row, counts.all()),
        reason=reason,
        values=values,
    )
    return target


def _why(counts: StageCounts, stage: PlannedStage, failed: int) -> Sentence:
    worst = counts.why(stage)
    if stage.kind is not Kind.EACH:
        return say("stage_failed", stage=stage.name, why=worst)
    return say("items_failed", count=failed, stage=stage.name, why=worst)
