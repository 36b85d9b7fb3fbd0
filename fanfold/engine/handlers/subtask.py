"""Submits a task for an item, exactly once, and gives its result to the handler; until then the item waits without a worker.

The subtask and the row that names it are stored in one transaction that checks the item's lease. The row's key is the item's
idempotency key with the subtask's name, so every later attempt finds the same subtask, and a redo gets a new one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fanfold.engine.installed import find_installed
from fanfold.engine.tasks.submitting.inputs import Upload
from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.errors import BadInput, IllegalMove, PauseTask, Permanent, SubtaskFailed
from fanfold.model.awaited.subtask import MOST_DEPTH, NAME_LENGTH, ParentItem, SubtaskRow
from fanfold.model.lifecycle import FINISHED_TASKS, TaskState
from fanfold.model.money.amounts import told
from fanfold.model.pipelines.kept_types import NO_TYPES
from fanfold.model.pipelines.pipeline import Pipeline, Target, as_pipeline
from fanfold.model.plan import ON_CANCELLED, ON_FAILED, Kind
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.model.values.files import File
from fanfold.store.rows.money.budgets import task_scope
from fanfold.store.store import Transaction

if TYPE_CHECKING:
    from fanfold.engine.handlers.work import Work

log = logging.getLogger("fanfold.worker")
LOOK_AGAIN_SECONDS = 300.0
"""An item whose subtask ends is due at once. It also looks by itself: the worker that ends the subtask may be an older one."""


class AwaitSubtasks(BaseException):
    """Ends the attempt: the item waits, without a worker, until these subtasks are over.

    A BaseException, so that a handler with `except Exception` does not continue without a result.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self.names = names


@dataclass(frozen=True)
class Subtask:
    """A task that an item has submitted: its public ``id``, its ``name`` within the item, and its result."""

    id: str
    name: str
    _number: int
    _work: Work
    _pipeline: Pipeline

    def result(self) -> Any:
        """The result of the subtask. Until it is over, the attempt ends here and the item waits without a worker.

        The handler is then called again from its start. SubtaskFailed if the subtask failed, was cancelled or is partial.
        """
        return results_of(self._work, [self])[0]


def submit_subtask(work: Work, pipeline: Target | str, name: str | None, wanted: Submission) -> Subtask:
    """The subtask of this name: a new one, or that of an earlier attempt."""
    work.check()
    known = _known(pipeline)
    name = name or known.name
    _check_place(work, name)
    work.subtasks = work.subtasks | {name}
    key = f"{work.idempotency_key}>{name}"
    with work._store.read() as tx:
        found = tx.subtasks.get(work._claimed.id, name)
    if found is not None and found.key == key:
        _retry_if_wanted(work, known, found)
    else:
        found = _submit(work, known, name, key, wanted)
    return Subtask(found.child_id, name, found.child, work, known)


def _known(pipeline: Target | str) -> Pipeline:
    if not isinstance(pipeline, str):
        return as_pipeline(pipeline)
    found = find_installed(pipeline)
    if found is None:
        raise BadInput(say("subtask_pipeline", pipeline=pipeline[:200]), code="cannot_submit")
    return found


def _check_place(work: Work, name: str) -> None:
    stage = work._claimed.stage
    if stage in (ON_FAILED, ON_CANCELLED) or work._row.plan.stage(stage).kind is Kind.MERGE:
        raise BadInput(say("subtask_stage", stage=stage), code="cannot_submit")
    if len(name) > NAME_LENGTH:
        raise BadInput(say("subtask_name", most=NAME_LENGTH, length=len(name)), code="cannot_submit")
    if name in work.subtasks:
        raise Permanent(say("subtask_twice", name=name), code="subtask_name")


def _submit(work: Work, pipeline: Pipeline, name: str, key: str, wanted: Submission) -> SubtaskRow:
    """Submit it, and record it under its name in the same transaction; nothing happens if the lease was lost."""
    from fanfold.engine.tasks.submitting.submit import NotWanted, submit_or_find

    item, lease = work._claimed.id, work._claimed.lease
    parent = ParentItem(work._row.number, item)
    with work._store.read() as tx:
        if tx.subtasks.depth(parent.task) >= MOST_DEPTH:
            raise BadInput(say("subtask_depth", most=MOST_DEPTH), code="cannot_submit")

    def admit(tx: Transaction) -> bool:
        return tx.subtasks.may_submit(item, lease)

    def note(tx: Transaction, child_id: str) -> None:
        _take_from_budget(tx, work._row, wanted)
        tx.subtasks.put(parent, name, key, child_id)

    try:
        with _with_files(wanted.inputs) as inputs:
            submission = replace(wanted, inputs=inputs, parent=parent, within=_Within(admit, note))
            row = submit_or_find(work._store, pipeline, submission).row
    except NotWanted:
        work._still(False)
        raise
    log.debug("[%s] Submitted subtask %s of %s %s", row.id, name, work._row.id, work._claimed.key)
    return SubtaskRow(name, key, row.number, row.id, told=False)


@dataclass(frozen=True)
class _Within:
    admit: Any
    note: Any


@contextmanager
def _with_files(inputs: Sequence[Any]) -> Iterator[list[Any]]:
    """The inputs, with files of this task open for reading: the subtask gets copies of its own."""
    with ExitStack() as used:
        yield [Upload(one.name, used.enter_context(one.open())) if isinstance(one, File) else one for one in inputs]


def _take_from_budget(tx: Transaction, row: TaskRow, wanted: Submission) -> None:
    """If the task has a budget, its subtask must have one, and that counts as spent here: together they cannot exceed it."""
    if tx.budgets.get(task_scope(row.number)) is None:
        return
    if wanted.budget is None:
        raise BadInput(say("subtask_budget", task=row.id), code="cannot_submit")
    for after in tx.budgets.settle([task_scope(row.number)], 0, wanted.budget.cap):
        if after.spent > after.cap:
            left = told(max(0, after.cap - after.spent + wanted.budget.cap))
            raise PauseTask(say("subtask_exceeds_budget", cap=told(after.cap), left=left))


def _retry_if_wanted(work: Work, pipeline: Pipeline, found: SubtaskRow) -> None:
    """Retry a subtask that ended without a result, if it was cancelled with its parent or a person has retried the item since.

    The mark goes first: a crash in between costs a person another retry, and never repeats work that nobody asked for.
    """
    from fanfold.engine.tasks.steering.commands import Commands

    with work._store.read() as tx:
        row = tx.tasks.get(found.child)
    if row is None or row.state not in FINISHED_TASKS or row.state is TaskState.COMPLETED:
        return
    if not found.told and not row.by_parent:
        return
    work._store.transact(lambda tx: tx.subtasks.forget_told(work._claimed.id, found.name))
    try:
        Commands(work._store, {pipeline.name: pipeline}, f"task {work._row.id}").retry(row.number)
    except IllegalMove as problem:  # Somebody else has just moved it.
        log.debug("[%s] Subtask %s is not retried: %s", work._row.id, row.id, problem)


def results_of(work: Work, subtasks: Sequence[Subtask]) -> list[Any]:
    """The results of these subtasks; AwaitSubtasks if one is not over, SubtaskFailed if one has none."""
    work.check()
    with work._store.read() as tx:
        rows = tx.tasks.by_numbers([one._number for one in subtasks])
    waiting = [one for one in subtasks if one._number in rows and rows[one._number].state not in FINISHED_TASKS]
    if waiting:
        raise AwaitSubtasks(tuple(one.name for one in waiting))
    for one in subtasks:
        row = rows.get(one._number)
        if row is None or row.state is not TaskState.COMPLETED:
            work.failed_subtasks = (*work.failed_subtasks, one.name)
            raise _failure(one, row)
    return [_result(work, one) for one in subtasks]


def existing_result(work: Work, pipeline: Target, name: str | None = None) -> Any:
    """The result of the subtask of this name, whichever attempt submitted it; None unless it has completed."""
    known = as_pipeline(pipeline)
    with work._store.read() as tx:
        found = tx.subtasks.get(work._claimed.id, name or known.name)
        row = None if found is None else tx.tasks.get(found.child)
    if found is None or row is None or row.state is not TaskState.COMPLETED:
        return None
    return _result(work, Subtask(found.child_id, found.name, found.child, work, known))


def _failure(subtask: Subtask, row: TaskRow | None) -> SubtaskFailed:
    if row is None:
        return SubtaskFailed(
            say("subtask_gone", name=subtask.name, task=subtask.id), task_id=subtask.id, state="deleted"
        )
    why = row.error_message or row.reason or say("no_reason_given")
    said = say("subtask_failed", name=subtask.name, task=row.id, state=row.state, why=why)
    return SubtaskFailed(said, task_id=row.id, state=row.state.value)


def _result(work: Work, subtask: Subtask) -> Any:
    from fanfold.engine.queries.lookup import Lookup
    from fanfold.engine.queries.results.outputs import OutputQueries

    types = subtask._pipeline.kept_types
    known = Lookup(work._store, types=lambda name: types if name == subtask._pipeline.name else NO_TYPES)
    return OutputQueries(known).result(subtask.id)
