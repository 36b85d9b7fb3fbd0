"""Adds, lists, pauses and removes schedules. The sweep of every worker submits their tasks when they are due."""

from __future__ import annotations

import builtins
import re
import secrets
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from fanfold.engine.installed import find_installed
from fanfold.engine.queries.lookup import check_limit
from fanfold.engine.tasks.scheduling.fire import run_now
from fanfold.engine.tasks.scheduling.stored_submission import budget_of, files_of, shown, stored
from fanfold.engine.tasks.submitting import inputs as given
from fanfold.engine.tasks.submitting.submission import Submission, checked
from fanfold.engine.tasks.submitting.submit import check_submission
from fanfold.engine.tasks.submitting.unlock import taken_out
from fanfold.errors import BadInput, BadOption, NotFound
from fanfold.model.item import NewItem
from fanfold.model.money.amounts import dollars
from fanfold.model.money.budgets import wish
from fanfold.model.pipelines.pipeline import Pipeline, Target, as_pipeline
from fanfold.model.schedule import CatchUp, Overlap, RunOutcome, Schedule, ScheduleRun, checked_cron, due_times
from fanfold.model.task import Task
from fanfold.model.text.sentences import say
from fanfold.model.values.files import File
from fanfold.store.rows.schedules import RunRow, ScheduleRow

if TYPE_CHECKING:
    from datetime import datetime

    from fanfold.engine.client import Client

NAME = re.compile(r"[\w.-]{1,100}")
SHOWN, RUNS_SHOWN = 1_000, 20
NO_TASK = 0
"""The task number in the blob rows of a schedule's files: they belong to no task, and no task has this number."""


class Schedules:
    """The schedules of an installation: ``client.schedules``. A client with an owner sees and changes only that owner's."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._store = client.store

    def add(
        self,
        name: str,
        cron: str,
        pipeline: Target,
        *inputs: Any,
        zone: str = "UTC",
        overlap: str = "skip",
        catch_up: str = "one",
        items: Iterable[Any] | None = None,
        options: dict[str, Any] | None = None,
        title: str | None = None,
        priority: int = 0,
        tags: Sequence[str] = (),
        owner: str | None = None,
        retry_limit: int | None = None,
        metadata: dict[str, Any] | None = None,
        straight_through: bool = False,
        literal: bool = False,
        notify: Sequence[str] = (),
        budget: Any = None,
        strict_budget: bool = False,
        allow_unknown_cost: bool = False,
    ) -> Schedule:
        """Submit a task at every time that ``cron`` names, on the wall clock of ``zone``, exactly once.

        ``overlap`` says what happens to a run that is due while the one before it is unfinished: `skip` it, `queue` one of
        them, or `allow` both. ``catch_up`` says what happens to times that passed without a worker: `none`, `one` run for all
        of them, or `all`. Input files are copied now, and every task gets its own copy: to read something fresh, let a
        handler read it. ``budget`` is that of each task, as for ``submit``.
        """
        known = as_pipeline(pipeline)
        if not _is_name(name):
            raise BadInput(say("schedule_name", name=str(name)[:200]))
        wanted = checked(
            Submission(
                inputs=inputs,
                items=None if items is None else builtins.list(items),
                options=dict(options or {}),
                title=title,
                priority=priority,
                tags=tags,
                owner=self._client.owner if self._client.owner is not None else (owner or ""),
                retry_limit=retry_limit,
                metadata=dict(metadata or {}),
                straight_through=straight_through,
                literal=literal,
                notify=notify,
                budget=wish(budget, strict=strict_budget, allow_unknown_cost=allow_unknown_cost),
            )
        )
        rules = {"overlap": _rule("overlap", Overlap, overlap), "catch_up": _rule("catch_up", CatchUp, catch_up)}
        with self._store.read() as tx:
            checked_cron(cron, zone, tx.time())
            if tx.schedules.get(name) is not None:
                raise BadInput(say("schedule_taken", name=name), code="schedule_taken")
        row = {"name": name, "owner": wanted.owner, "cron": cron, "zone": zone, "pipeline": known.name, **rules}
        return self._store_new(known, wanted, {**row, "paused": False, "actor": self._client.actor})

    def _store_new(self, pipeline: Pipeline, wanted: Submission, row: dict[str, Any]) -> Schedule:
        """Check and copy what is submitted each time, and store the schedule."""
        _, secret = taken_out(pipeline, wanted.options)
        if secret:
            option = next(iter(secret.values))
            raise BadOption(say("schedule_secret", option=option), field=option)
        inputs = check_submission(pipeline, pipeline.plan(), wanted)
        files: builtins.list[File] = []
        try:
            kept = given.copy_in(self._store, f"s-{secrets.token_hex(6)}", inputs, files)
            text = stored(wanted, kept, None if wanted.items is None else [_plain(item) for item in wanted.items])
            with self._store.write() as tx:
                # Copying the files may have taken minutes, and the times of these minutes were not missed.
                now = tx.time()
                times = {"created_at": now, "next_at": checked_cron(row["cron"], row["zone"], now)}
                added = tx.schedules.add({**row, **times, "wanted": text})
                if added is None:
                    raise BadInput(say("schedule_taken", name=row["name"]), code="schedule_taken")
                tx.blobs.add_files(NO_TASK, files)
        except BaseException:
            self._store.shelf.delete(file.key for file in files)
            raise
        return self._shown(added, ())

    def list(self, *, limit: int = SHOWN) -> builtins.list[Schedule]:
        """All schedules by name, each with its latest run."""
        check_limit(limit)
        with self._store.read() as tx:
            rows = tx.schedules.all(self._client.owner, limit)
            return [self._shown(row, tx.schedules.runs(row.number, 1)) for row in rows]

    def get(self, name: str, *, runs: int = RUNS_SHOWN) -> Schedule:
        """One schedule with its latest runs."""
        row = self._row(name)
        with self._store.read() as tx:
            return self._shown(row, tx.schedules.runs(row.number, runs))

    def next_times(self, name: str, count: int = 5) -> builtins.list[datetime]:
        """When the schedule is due next, if it is not paused until then."""
        row = self._row(name)
        with self._store.read() as tx:
            now = tx.time()
        first: builtins.list[datetime] = [] if row.next_at is None or row.paused else [row.next_at]
        after = row.next_at if first and row.next_at is not None else now
        return [*first, *islice(due_times(row.cron, row.zone, after), max(0, count - len(first)))][:count]

    def pause(self, name: str) -> Schedule:
        """Submit nothing until ``resume``. Tasks that it has submitted continue."""
        self._row(name)
        with self._store.write() as tx:
            tx.schedules.pause(name, True, None)
        return self.get(name)

    def resume(self, name: str) -> Schedule:
        """Continue with the next due time; those of the pause are left out."""
        row = self._row(name)
        if row.paused:
            with self._store.write() as tx:
                tx.schedules.pause(name, False, next(due_times(row.cron, row.zone, tx.time()), None))
        return self.get(name)

    def run(self, name: str) -> Task:
        """Submit its task now, beside its due times, even if it is paused or a run is unfinished."""
        row = self._row(name)
        pipeline = self._client.pipelines.get(row.pipeline) or find_installed(row.pipeline)
        if pipeline is None:
            raise BadInput(say("schedule_needs_pipeline", pipeline=row.pipeline), code="pipeline_needed")
        return self._client.lookup.view(run_now(self._store, pipeline, row, self._client.actor))

    def remove(self, name: str) -> None:
        """Remove a schedule with its kept files and the list of its runs. Its tasks stay."""
        row = self._row(name)
        keys = files_of(row.wanted)
        with self._store.write() as tx:
            tx.schedules.remove(row.number)
            tx.blobs.drop_keys(keys)
        self._store.shelf.delete(keys)

    def _row(self, name: str) -> ScheduleRow:
        with self._store.read() as tx:
            row = tx.schedules.get(name) if _is_name(name) else None
        if row is None or self._client.owner not in (None, row.owner):
            raise NotFound(say("no_schedule", name=str(name)[:100]))
        return row

    def _shown(self, row: ScheduleRow, runs: Sequence[RunRow]) -> Schedule:
        wanted = shown(row.wanted)
        return Schedule(
            name=row.name,
            cron=row.cron,
            zone=row.zone,
            pipeline=row.pipeline,
            owner=row.owner,
            overlap=Overlap(row.overlap),
            catch_up=CatchUp(row.catch_up),
            paused=row.paused,
            next_at=row.next_at,
            queued_at=row.queued_at,
            actor=row.actor,
            created_at=row.created_at,
            title=wanted["title"],
            options=wanted["options"],
            inputs=tuple(wanted["inputs"]),
            tags=tuple(wanted["tags"]),
            priority=wanted["priority"],
            budget=None if (budget := budget_of(wanted)) is None else dollars(budget.cap),
            runs=tuple(
                ScheduleRun(run.due_at, RunOutcome(run.outcome), run.task_id, run.reason, run.actor, run.at)
                for run in runs
            ),
        )


def _rule(field: str, kind: type[Overlap] | type[CatchUp], value: str) -> str:
    if value not in [one.value for one in kind]:
        choices = [one.value for one in kind]
        raise BadInput(say("schedule_rule", field=field, choices=choices, value=str(value)[:100]))
    return value


def _plain(item: Any) -> Any:
    """An item as it is stored: with its key, if it has one."""
    return {"key": item.key, "input": item.input} if isinstance(item, NewItem) else {"key": None, "input": item}


def _is_name(name: object) -> bool:
    return isinstance(name, str) and NAME.fullmatch(name) is not None
