"""Submits the tasks of schedules when they are due: exactly once, by whichever worker sweeps first.

The next due time moves on, the task is submitted and the run is recorded in one transaction. The move carries the due time that
was seen in its condition, so of ten workers one wins, and a process that dies in between has done nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from fanfold.engine.installed import find_installed
from fanfold.engine.tasks.moving.transitions import Pipelines
from fanfold.engine.tasks.scheduling.stored_submission import restored, with_files
from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.tasks.submitting.submit import NotWanted, submit_or_find
from fanfold.errors import DatabaseProblem, FanfoldError, HandlerError
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.schedule import CatchUp, Overlap, RunOutcome, due_now
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.store.rows.schedules import ScheduleRow
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.sweep")
AT_ONCE = 100
"""Schedules looked at per sweep."""


def fire_due(store: Store, pipelines: Pipelines, actor: str) -> int:
    """Submit what is due, of pipelines that this process knows; returns how many tasks were submitted."""
    with store.read() as tx:
        due, now = tx.schedules.due(AT_ONCE), tx.time()
    fired = 0
    for row in due:
        pipeline = pipelines.get(row.pipeline) or find_installed(row.pipeline)
        if pipeline is None:
            continue
        try:
            fired += _Firing(store, pipeline, actor).fire(row, now)
        except OSError as problem:
            # No disk space for its files, for example: pruning comes after this, and may make some.
            log.warning("[%s] Schedule %s is tried again at the next sweep: %s", actor, row.name, problem)
    return fired


@dataclass(frozen=True)
class FiringPart:
    """What a submission does in its own transaction: ``admit`` says whether it may happen, ``note`` records it."""

    admit: Callable[[Transaction], bool]
    note: Callable[[Transaction, str], None]


class _Firing:
    """Deals with the due times of one schedule."""

    def __init__(self, store: Store, pipeline: Pipeline, actor: str) -> None:
        self.store = store
        self.pipeline = pipeline
        self.actor = actor

    def fire(self, row: ScheduleRow, now: datetime) -> int:
        """Submit what is due now; returns how many tasks were submitted."""
        fired = 0
        if row.queued_at is not None:
            fired += self._run(row, row.queued_at, row._replace(queued_at=None), is_queued=True)
            with self.store.read() as tx:
                row = tx.schedules.get(row.name) or row
        if row.next_at is None or row.next_at > now or row.paused:
            return fired
        plan = due_now(row.cron, row.zone, CatchUp(row.catch_up), row.next_at, now)
        if plan.missed is not None:
            left = row._replace(next_at=plan.runs[0] if plan.runs else plan.following)
            self.store.transact(
                partial(self._give_up, row, plan.missed, left, RunOutcome.MISSED, say("schedule_missed"))
            )
            row = left
        for place, moment in enumerate(plan.runs, 1):
            following = plan.runs[place] if place < len(plan.runs) else plan.following
            fired += self._run(row, moment, row._replace(next_at=following))
            with self.store.read() as tx:
                row = tx.schedules.get(row.name) or row
            if row.next_at != following:  # Somebody else was here, or it failed for now.
                break
        return fired

    def _run(self, seen: ScheduleRow, due_at: datetime, after: ScheduleRow, *, is_queued: bool = False) -> int:
        """Submit the task of one due time, or record why not; returns 1 if it was submitted."""
        try:
            if self._is_held(seen, due_at, after, is_queued):
                return 0
            with with_files(self.store, seen.wanted) as inputs:
                wanted = self._wanted(seen, due_at, after, inputs, is_queued)
                submitted = submit_or_find(self.store, self.pipeline, wanted)
            if submitted.is_new:
                log.info("[%s] Submitted %s for schedule %s", self.actor, submitted.row.id, seen.name)
                return 1
            reason = say("schedule_had_task", task=submitted.row.id)
            self.store.transact(partial(self._give_up, seen, due_at, after, RunOutcome.SKIPPED, reason))
        except NotWanted:
            log.debug("[%s] Another worker has dealt with schedule %s", self.actor, seen.name)
        except DatabaseProblem:
            raise
        except (FanfoldError, HandlerError) as problem:
            log.warning("[%s] Schedule %s could not submit its task: %s", self.actor, seen.name, problem)
            self.store.transact(partial(self._give_up, seen, due_at, after, RunOutcome.FAILED, problem.message))
        return 0

    def _is_held(self, seen: ScheduleRow, due_at: datetime, after: ScheduleRow, is_queued: bool) -> bool:
        """Whether an unfinished task of the schedule keeps this run from being made now; then that is recorded."""
        if seen.overlap == Overlap.ALLOW:
            return False
        return self.store.transact(partial(self._hold, seen, due_at, after, is_queued))

    def _hold(self, seen: ScheduleRow, due_at: datetime, after: ScheduleRow, is_queued: bool, tx: Transaction) -> bool:
        if tx.schedules.lock(seen.number) is None or not tx.schedules.is_running(seen.number):
            return False
        if is_queued:
            return True
        if seen.overlap == Overlap.QUEUE and seen.queued_at is None:
            tx.schedules.move_on(seen, after.next_at, due_at)
            return True
        reason = say("schedule_queued_already") if seen.overlap == Overlap.QUEUE else say("schedule_still_runs")
        self._give_up(seen, due_at, after, RunOutcome.SKIPPED, reason, tx)
        return True

    def _give_up(
        self,
        seen: ScheduleRow,
        due_at: datetime,
        after: ScheduleRow,
        outcome: RunOutcome,
        reason: str,
        tx: Transaction,
    ) -> None:
        """Record that a due time has no task, unless somebody else has dealt with it."""
        if tx.schedules.move_on(seen, after.next_at, after.queued_at):
            tx.schedules.note(seen.number, due_at, outcome, self.actor, reason=reason)

    def _wanted(
        self, seen: ScheduleRow, due_at: datetime, after: ScheduleRow, inputs: list[object], is_queued: bool
    ) -> Submission:
        def admit(tx: Transaction) -> bool:
            if not tx.schedules.move_on(seen, after.next_at, after.queued_at):
                return False
            return seen.overlap == Overlap.ALLOW or not tx.schedules.is_running(seen.number)

        def note(tx: Transaction, task_id: str) -> None:
            tx.schedules.note(seen.number, due_at, RunOutcome.SUBMITTED, self.actor, task_id=task_id)

        wanted = restored(seen.wanted)
        key = f"schedule:{seen.number}:{due_at.isoformat()}"
        return replace(
            wanted,
            inputs=inputs,
            key=key,
            owner=seen.owner,
            actor=f"schedule {seen.name}"[:100],
            within=FiringPart(admit, note),
        )


def run_now(store: Store, pipeline: Pipeline, seen: ScheduleRow, actor: str) -> TaskRow:
    """Submit a task of the schedule now, whatever its times; its due times do not change."""
    with with_files(store, seen.wanted) as inputs:

        def note(tx: Transaction, task_id: str) -> None:
            if tx.schedules.lock(seen.number) is not None:
                moment = tx.schedules.free_moment(seen.number)
                tx.schedules.note(seen.number, moment, RunOutcome.SUBMITTED, actor, task_id=task_id)

        wanted = replace(
            restored(seen.wanted),
            inputs=inputs,
            owner=seen.owner,
            actor=actor,
            within=FiringPart(lambda _tx: True, note),
        )
        return submit_or_find(store, pipeline, wanted).row
