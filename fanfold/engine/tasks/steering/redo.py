"""Retry and rerun: choose the items to redo and the stage to move to, in one transaction under the task's lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fanfold.engine.credits.price import AskedPrice, with_task_options
from fanfold.engine.credits.settling import NewPrice, charge_rerun, charge_retry
from fanfold.engine.installed import find_installed
from fanfold.engine.tasks.many_items.leftovers import retire
from fanfold.engine.tasks.many_items.reset_items import LargeReset, Noted, Selection, named, refuse_busy
from fanfold.engine.tasks.moving.advance import compensated, enter, new_generation
from fanfold.engine.tasks.moving.transitions import Pipelines, move
from fanfold.engine.tasks.submitting.option_checks import check_options
from fanfold.engine.tasks.submitting.unlock import NewInputs
from fanfold.errors import BadInput, IllegalMove
from fanfold.model.lifecycle import OPEN_ITEMS, ItemState, TaskState
from fanfold.model.money.questions import laid_over
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.plan import Kind, Plan
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.decoding import AS_KEPT
from fanfold.store.items import reset as resetting
from fanfold.store.rows.templates import UsedTemplate
from fanfold.store.store import Transaction

NAMED = 20
"""Most items that an event names."""


@dataclass(frozen=True)
class Redo:
    """What a person wants redone: the named items, the degraded ones, or the failed ones."""

    keys: tuple[str, ...]
    stage: str | None
    options: dict[str, Any] | None
    degraded: bool
    inputs: NewInputs | None = None
    """The task's inputs with secrets applied."""
    task_options: dict[str, Any] | None = None
    """Options that become the task's own in the same transaction."""
    templates: tuple[UsedTemplate, ...] = ()
    """The versions of templates that the options were made from."""
    price: Mapping[str, int] | None = None
    """What the task costs with the changed options, by item key."""


def retry(
    tx: Transaction, pipelines: Pipelines, row: TaskRow, actor: str, redo: Redo, noted: Noted | None = None
) -> int:
    """Reset items and move the task back to their stage, if it is past it; returns how many.

    LargeReset if there are more than one short transaction can reset: they must be ``noted`` first.
    """
    if row.ending and row.state is TaskState.ACTIVE:
        return _release_held(tx, pipelines, row, actor)
    wanted = redo.stage or _stage_of(tx, row, redo)
    if wanted not in [planned.name for planned in row.plan.stages]:
        row.plan.stage(wanted)
        raise BadInput(say("runs_once", stage=wanted))
    if redo.options and (pipeline := pipelines.get(row.pipeline) or find_installed(row.pipeline)):
        own = serial.load(row.options, reading=pipeline.kept_types.lenient) or {}
        check_options(pipeline, laid_over(own, redo.options))
    if redo.task_options and (pipeline := pipelines.get(row.pipeline) or find_installed(row.pipeline)):
        check_options(pipeline, _with_task_options(row, redo.task_options))
    overrides = None if not redo.options else serial.dump(redo.options, "The options")
    which = "degraded" if redo.degraded else "failed"
    selection = Selection(wanted, which, redo.keys, overrides, tuple(row.plan.followers(wanted)))
    changed = _as_task_options(row, wanted, redo)
    price = None if redo.price is None else NewPrice(redo.price, everywhere=bool(changed))
    charge_retry(tx, row, actor, wanted, keys=redo.keys, degraded=redo.degraded, new=price)
    moved, resetting = _put_back(tx, row, selection, noted)
    if redo.stage and not moved:
        raise IllegalMove(say("nothing_to_redo", task=row.id, stage=wanted))
    # Never forward: open items in an earlier stage would be lost.
    back = row.plan.index(wanted) < row.plan.index(row.stage)
    target = TaskState.PAUSED if row.state is TaskState.PAUSED else TaskState.ACTIVE
    reason = _told(moved, wanted, redo.keys)
    values: dict[str, Any] = {"error_code": None, "error_message": None, "ending": None, **resetting}
    if redo.inputs is not None:
        values |= _renew(tx, row, wanted, redo.inputs)
    values |= changed
    if changed and row.plan.priced:
        values["plan"] = replace(row.plan, repriced=True).to_json()
    if compensated(tx, row) or redo.inputs is not None or "options" in values:
        values |= new_generation(tx, row)
    stage = wanted if back else row.stage
    move(tx, pipelines, row, "retry", target, actor=actor, stage=stage, reason=reason, values=values)
    tx.templates.use(row.number, redo.templates)
    return moved


def _told(moved: int, stage: str, keys: Sequence[str]) -> str | None:
    """Which items are redone; None if open ones just continue."""
    if not moved:
        return None
    named = [*keys[:NAMED], "…"] if len(keys) > NAMED else keys
    return (
        say("items_redone_named", count=moved, stage=stage, keys=named)
        if keys
        else say("items_redone", count=moved, stage=stage)
    )


def _as_task_options(row: TaskRow, stage: str, redo: Redo) -> dict[str, Any]:
    """The options that become the task's own: those for the task, and those for the step that everything is made from.

    If they were stored only with that step, the items that it makes would not get them, and the task would still show
    the old ones.
    """
    first = row.plan.stages[0]
    changed = dict(redo.task_options or {})
    if redo.options and not redo.keys and stage == first.name and first.kind is not Kind.EACH:
        changed |= redo.options
    return {"options": serial.dump(_with_task_options(row, changed), "The options")} if changed else {}


def _with_task_options(row: TaskRow, changed: dict[str, Any]) -> dict[str, Any]:
    return with_task_options(serial.load(row.options, reading=AS_KEPT) or {}, changed)


def _renew(tx: Transaction, row: TaskRow, stage: str, new: NewInputs) -> dict[str, Any]:
    """Take the new inputs, and start a new generation: workers cache a task's row per generation."""
    if stage != row.plan.stages[0].name:
        raise IllegalMove(say("password_too_late", task=row.id, stage=stage))
    if row.input != new.before:
        raise IllegalMove(say("input_changed", task=row.id))
    tx.blobs.add_files(row.number, new.files)
    return {"input": new.inputs}


def _put_back(tx: Transaction, row: TaskRow, selection: Selection, noted: Noted | None) -> tuple[int, dict[str, str]]:
    """Reset a few items now, or activate the notes of many; returns how many, and the values for the task's row."""
    if noted is not None and noted.selection == selection and noted.still_holds(tx, row):
        return noted.count, {"resetting": noted.token}
    most = max(1, resetting.AT_ONCE // selection.notes_per_item)
    if len(selection.keys) > most:
        raise LargeReset(row, selection)
    if selection.keys:
        chosen = named(tx, row, selection.stage, selection.keys)
        refuse_busy(row, chosen, selection.options)
    else:
        chosen = tx.resetting.choose(row.number, selection.stage, selection.which, limit=most + 1)
    if len(chosen) > most:
        raise LargeReset(row, selection)
    ids = sorted(one.id for one in chosen)
    return tx.resetting.retry(row.number, ids, selection.options, selection.followers), {}


def _release_held(tx: Transaction, pipelines: Pipelines, row: TaskRow, actor: str) -> int:
    """Let a held compensation step continue; it stays a compensation."""
    held = [one.id for one in tx.resetting.choose(row.number, row.stage, "failed")]
    moved = tx.resetting.retry(row.number, held)
    reason = say("step_goes_on", stage=row.stage)
    move(tx, pipelines, row, "retry", TaskState.ACTIVE, actor=actor, stage=row.stage, reason=reason)
    return moved


def _stage_of(tx: Transaction, row: TaskRow, redo: Redo) -> str:
    """The stage to retry if none was named."""
    if redo.degraded:
        return _degraded_stage(tx, row)
    return _stage_of_keys(row) if redo.keys else _failed_stage(tx, row)


def _stage_of_keys(row: TaskRow) -> str:
    each = [stage.name for stage in row.plan.stages if stage.kind is Kind.EACH]
    if not each:
        raise BadInput(say("no_many_items_retry", task=row.id))
    return each[-1] if row.stage not in each else row.stage


def _degraded_stage(tx: Transaction, row: TaskRow) -> str:
    for stage in row.plan.stages:
        if tx.resetting.choose(row.number, stage.name, "degraded", limit=1):
            return stage.name
    if tx.counting.marks([row.number]):
        raise IllegalMove(say("degraded_accepted", task=row.id))
    raise IllegalMove(say("not_degraded", task=row.id))


def _failed_stage(tx: Transaction, row: TaskRow) -> str:
    """The current stage if it has failures (earlier ones were accepted), otherwise the first stage that has any.

    Without failures: the first stage with open items, or the last stage entered.
    """
    for stage in (row.plan.stage(row.stage), *row.plan.stages):
        if tx.items.any_in(row.number, stage.name, (ItemState.FAILED,)):
            return stage.name
    for stage in row.plan.stages:
        if tx.items.any_in(row.number, stage.name, OPEN_ITEMS):
            return stage.name
    entered = [stage.name for stage in row.plan.stages if tx.items.exist(row.number, stage.name)]
    return entered[-1] if entered else row.plan.stages[0].name


def rerun(
    tx: Transaction,
    pipelines: Pipelines,
    pipeline: Pipeline | None,
    row: TaskRow,
    actor: str,
    noted: Noted | None = None,
    price: AskedPrice | None = None,
) -> None:
    """Start over from the first stage of the current ``pipeline``; all later items are removed. LargeReset as for a retry."""
    plan = _plan_now(pipeline, row)
    first = plan.stages[0]
    charge_rerun(tx, row, actor, price)
    resetting, put_back, begun = _start_over(tx, row, first.name, noted)
    known = {stage.name for stage in (*row.plan.stages, *plan.stages)}
    retire(tx, row.number, sorted(known - {first.name}))
    row = replace(row, plan=plan)
    values = {**new_generation(tx, row), **resetting, "plan": plan.to_json()}
    enter(tx, pipelines, row, first, actor=actor, verb="rerun", put_back=put_back, values=values, begun=begun)


def _start_over(tx: Transaction, row: TaskRow, stage: str, noted: Noted | None) -> tuple[dict[str, str], bool, bool]:
    """Reset the first stage's items; returns values for the task's row, whether items exist, and whether any was ever claimed."""
    selection = Selection(stage, "all")
    if noted is not None and noted.selection == selection and noted.still_holds(tx, row):
        return {"resetting": noted.token}, noted.count > 0, noted.begun
    chosen = tx.resetting.choose(row.number, stage, "all")
    if len(chosen) > resetting.AT_ONCE:
        raise LargeReset(row, selection)
    tx.resetting.start_over([one.id for one in chosen])
    return {}, bool(chosen), any(one.lease for one in chosen)


def _plan_now(pipeline: Pipeline | None, row: TaskRow) -> Plan:
    """The plan of the current code.

    The stored plan is not a substitute: workers may have different code, which would silently skip or repeat stages.
    """
    if pipeline is None:
        raise BadInput(say("pipeline_needed", task=row.id, pipeline=row.pipeline), code="pipeline_needed")
    plan = replace(pipeline.plan(), priced=row.plan.priced, repriced=row.plan.repriced)
    first, before = plan.stages[0], row.plan.stages[0]
    moved = Kind.EACH in (first.kind, before.kind) and (first.name, first.kind) != (before.name, before.kind)
    changed = any(stage.name == first.name and stage.kind is not first.kind for stage in row.plan.stages)
    if moved or changed:
        raise IllegalMove(say("begins_differently", task=row.id, before=before.name, after=first.name))
    same = [stage.name for stage in plan.stages] == [stage.name for stage in row.plan.stages]
    straight = same and not any(stage.gate for stage in row.plan.stages)
    return plan.without_gates() if straight else plan
