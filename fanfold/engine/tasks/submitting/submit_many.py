"""Submits several tasks in one transaction: for a command over hundreds of small files, each commit counts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.tasks.submitting.submission import checked as checked_submission
from fanfold.engine.tasks.submitting.submit import Making, check_submission, plan_of, submit, without_secrets
from fanfold.engine.tasks.submitting.unlock import applied
from fanfold.engine.tasks.submitting.unpack import unpacked
from fanfold.errors import FanfoldError, HandlerError
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import TaskRow
from fanfold.store.store import Store


class Prepared(NamedTuple):
    """A submission whose files are stored, and the row to be written."""

    position: int
    made: Making
    row: dict[str, Any]


def submit_many(store: Store, pipeline: Pipeline, wanted: Sequence[Submission]) -> list[TaskRow | Exception]:
    """A task, or the error, for each submission. None of their keys may be taken, and none may have many items.

    If the transaction fails, for example because another process has taken a key, they are submitted one by one.
    """
    if store.settings.telemetry:  # Each submission has a trace of its own.
        return [_alone(store, pipeline, one) for one in wanted]
    found: list[TaskRow | Exception | None] = [None] * len(wanted)
    with ExitStack() as used:
        prepared: list[Prepared] = []
        for position, one in enumerate(wanted):
            try:
                prepared.append(Prepared(position, *_prepared(store, pipeline, one, used)))
            except (OSError, FanfoldError, HandlerError, ValueError) as problem:
                found[position] = problem
        try:
            with store.write() as tx:
                rows = [ready.made.add(tx, ready.row) for ready in prepared]
            for ready, row in zip(prepared, rows, strict=True):
                found[ready.position] = row
        except BaseException as problem:
            for ready in prepared:
                ready.made.remove_blobs()
            if not isinstance(problem, Exception):
                raise
    return [_alone(store, pipeline, one) if row is None else row for one, row in zip(wanted, found, strict=True)]


def _prepared(store: Store, pipeline: Pipeline, wanted: Submission, used: ExitStack) -> tuple[Making, dict[str, Any]]:
    wanted, secrets = without_secrets(store, pipeline, checked_submission(wanted))
    plan = plan_of(pipeline, wanted)
    checked = check_submission(pipeline, plan, wanted)
    made = Making(store, pipeline, plan, wanted)
    used.callback(made.new_items.remove)
    try:
        usable = used.enter_context(applied(store, secrets, checked))
        return made, made.prepare(checked, used.enter_context(unpacked(store, pipeline, usable)))
    except BaseException:
        made.remove_blobs()
        raise


def _alone(store: Store, pipeline: Pipeline, wanted: Submission) -> TaskRow | Exception:
    try:
        return submit(store, pipeline, wanted)
    except (OSError, FanfoldError, HandlerError, ValueError) as problem:
        return problem
