"""Submits several tasks in one transaction: for a command over hundreds of small files, each commit counts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.tasks.submitting.submission import checked as checked_submission
from fanfold.engine.tasks.submitting.submit import (
    Making,
    Submitted,
    check_submission,
    plan_of,
    submit,
    submit_or_find,
    without_secrets,
)
from fanfold.engine.tasks.submitting.unlock import applied
from fanfold.engine.tasks.submitting.unpack import unpacked
from fanfold.errors import FanfoldError, HandlerError
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import TaskRow
from fanfold.store.store import Store

AT_ONCE = 200
"""Most tasks that one transaction writes."""


class PreparedSubmission(NamedTuple):
    """A submission whose files are stored, and the row to be written."""

    position: int
    made: Making
    row: dict[str, Any]


def submit_or_find_many(store: Store, pipeline: Pipeline, wanted: Sequence[Submission]) -> list[Submitted | Exception]:
    """For each submission its task, new or found by its key, or the error. One that is refused stops no other."""
    found: list[Submitted | Exception] = []
    for start in range(0, len(wanted), AT_ONCE):
        some = wanted[start : start + AT_ONCE]
        taken = _taken(store, some)
        new = [one for one, is_taken in zip(some, taken, strict=True) if not is_taken]
        made = iter(submit_many(store, pipeline, new))
        for one, is_taken in zip(some, taken, strict=True):
            if is_taken:
                found.append(_found(store, pipeline, one))
            else:
                row = next(made)
                found.append(Submitted(row, True) if isinstance(row, TaskRow) else row)
    return found


def _taken(store: Store, wanted: Sequence[Submission]) -> list[bool]:
    """Which of the keys belong to a task already, or to an earlier one of these submissions."""
    by_owner: dict[str, list[str]] = {}
    for one in wanted:
        if one.key is not None:
            by_owner.setdefault(one.owner, []).append(one.key)
    with store.read() as tx:
        known = {(owner, key) for owner, keys in by_owner.items() for key in tx.tasks.by_keys(owner, keys)}
    taken = []
    for one in wanted:
        taken.append(one.key is not None and (one.owner, one.key) in known)
        known.add((one.owner, one.key or ""))
    return taken


def _found(store: Store, pipeline: Pipeline, wanted: Submission) -> Submitted | Exception:
    try:
        return submit_or_find(store, pipeline, wanted)
    except (OSError, FanfoldError, HandlerError, ValueError) as problem:
        return problem


def submit_many(store: Store, pipeline: Pipeline, wanted: Sequence[Submission]) -> list[TaskRow | Exception]:
    """A task, or the error, for each submission. None of their keys may be taken; one with many items is submitted alone.

    If the transaction fails, for example because another process has taken a key, they are submitted one by one.
    """
    if store.settings.telemetry:  # Each submission has a trace of its own.
        return [_alone(store, pipeline, one) for one in wanted]
    found: list[TaskRow | Exception | None] = [None] * len(wanted)
    with ExitStack() as used:
        prepared: list[PreparedSubmission] = []
        for position, one in enumerate(wanted):
            try:
                made, values = _prepared(store, pipeline, one, used)
                if made.new_items.fits_one_chunk:
                    prepared.append(PreparedSubmission(position, made, values))
                else:
                    made.remove_blobs()
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
