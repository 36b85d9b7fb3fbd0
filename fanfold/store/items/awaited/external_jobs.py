"""Stores external jobs: the intent to start one, written before the call, and the job's id once it is known.

A row belongs to an item and a name. Every verb that reports the outcome of an intent names its key and lease. So a late answer
is kept unless a newer intent exists, and it never overwrites a newer one. The item's row is always locked before the row of
its job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from fanfold.model.awaited.external import ExternalJob, JobRow, JobState
from fanfold.model.item import HELD_FROM
from fanfold.model.lifecycle import ItemState
from fanfold.model.text.sentences import restored
from fanfold.model.values import serial
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.claim import task_is_active
from fanfold.store.items.pending import HANDED_BACK
from fanfold.store.schema.tables import HELD, RUNNING, externals, item_data, items, workers

OPEN_STATES = (JobState.INTENDED, JobState.UNKNOWN)
ENDED = (ItemState.DONE, ItemState.FAILED)
START_SECONDS = 600.0
"""Longest wait for a starting call, even if its worker is alive."""


class Externals:
    """Verbs on external jobs, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def get(self, item: int, name: str, lease_seconds: float) -> JobRow | None:
        """The job's row; `in_flight` if the worker that starts it was seen within ``lease_seconds``."""
        columns = [externals.c[column] for column in ("item", "name", "lease", "key", "state", "job")]
        age = self.clock.seconds_since(externals.c.updated_at).label("seconds")
        found = sa.select(*columns, age, self._in_flight(lease_seconds).label("in_flight")).where(
            externals.c.item == item, externals.c.name == name
        )
        row = self.connection.execute(found).first()
        if row is None:
            return None
        return JobRow(**dict(row._mapping) | {"state": JobState(row.state), "in_flight": bool(row.in_flight)})

    def _in_flight(self, lease_seconds: float) -> sa.ColumnElement[bool]:
        alive = sa.select(workers.c.id).where(
            workers.c.id == externals.c.worker, workers.c.seen_at > self.clock.before(lease_seconds)
        )
        young = externals.c.updated_at > self.clock.before(START_SECONDS)
        return sa.and_(externals.c.state == JobState.INTENDED, young, sa.exists(alive.correlate(externals)))

    def intend(self, item: int, lease: int, name: str, key: str, wake: str | None = None) -> bool:
        """Store the intent, if the item still runs under this lease and its task wants it. Commit it before the call.

        ``wake`` is the hash of the token with which the service may wake the item.
        """
        wanted = task_is_active(items.c.task, items.c.stage)
        held = sa.select(items.c.task, items.c.worker).where(
            items.c.id == item, items.c.lease == lease, RUNNING, wanted
        )
        row = self.connection.execute(held.with_for_update(of=items)).first()
        if row is None:
            return False
        values: dict[str, Any] = {"lease": lease, "key": key, "state": JobState.INTENDED.value, "job": None}
        values |= {"wake": wake}
        values |= {"worker": row.worker, "intended_at": self.clock.now, "updated_at": self.clock.now}
        made = self.clock.dialect.insert(externals).values(item=item, name=name, task=row.task, **values)
        self.connection.execute(made.on_conflict_do_update(index_elements=["item", "name"], set_=values))
        return True

    def waking(self, wake: str) -> int | None:
        """The item whose job has this token."""
        return self.connection.execute(sa.select(externals.c.item).where(externals.c.wake == wake)).scalar()

    def wake(self, item: int) -> bool:
        """Make an item that waits for its job due now; False if it is due already, runs, or waits for a person."""
        waits = (items.c.id == item, items.c.state == ItemState.WAITING, ~HELD, items.c.available_at > self.clock.now)
        return self._execute(sa.update(items).where(*waits).values(available_at=self.clock.now))

    def withdraw(self, item: int, lease: int, name: str, key: str, ended: str | None = None) -> bool:
        """Remove the intent: the job was certainly not started.

        ``ended`` is the key of the job before it, which failed or was lost: it stays, so that its key is not used again.
        """
        mine = self._mine(item, lease, name, key)
        if ended is None:
            return self._execute(sa.delete(externals).where(*mine))
        over = {"key": ended, "state": JobState.OVER.value, "updated_at": self.clock.now}
        return self._execute(sa.update(externals).where(*mine).values(over))

    def not_known(self, item: int, lease: int, name: str, key: str) -> bool:
        """intended → unknown: the call has ended without telling whether the job was started."""
        return self._execute(self._change(item, lease, name, key, state=JobState.UNKNOWN.value))

    def cut_off(self, item: int, lease: int) -> None:
        """intended → unknown for all jobs of an attempt whose process is gone, and with it the call."""
        mine = (externals.c.item == item, externals.c.lease == lease, externals.c.state == JobState.INTENDED)
        said = {"state": JobState.UNKNOWN.value, "updated_at": self.clock.now}
        self.connection.execute(sa.update(externals).where(*mine).values(said))

    def started(self, item: int, lease: int, name: str, key: str, job: str) -> bool:
        """intended or unknown → started, in any state of the item and its task.

        If the item waits for a person, it becomes due: the answer it waited for is known now.
        """
        self.connection.execute(sa.select(items.c.id).where(items.c.id == item).with_for_update())
        kept = self._execute(self._change(item, lease, name, key, state=JobState.STARTED.value, job=job))
        if kept:
            due = sa.update(items).where(items.c.id == item, HELD).values(available_at=self.clock.now)
            self.connection.execute(due)
        return kept

    def found(self, item: int, lease: int, row: JobRow, job: str) -> bool:
        """unknown → started: the service found the job by its key. Needs the item's lease."""
        held = sa.select(items.c.id).where(items.c.id == item, items.c.lease == lease, RUNNING).with_for_update()
        if self.connection.execute(held).first() is None:
            return False
        return self.started(item, row.lease, row.name, row.key, job)

    def end(self, item: int, name: str, key: str) -> None:
        """started → over: the job failed; the next attempt starts another one."""
        mine = (externals.c.item == item, externals.c.name == name, externals.c.key == key)
        over = {"state": JobState.OVER.value, "updated_at": self.clock.now}
        self.connection.execute(sa.update(externals).where(*mine, externals.c.state == JobState.STARTED).values(over))

    def _mine(self, item: int, lease: int, name: str, key: str) -> tuple[sa.ColumnElement[bool], ...]:
        return (
            externals.c.item == item,
            externals.c.name == name,
            externals.c.key == key,
            externals.c.lease == lease,
            externals.c.state.in_(OPEN_STATES),
        )

    def _change(self, item: int, lease: int, name: str, key: str, **values: Any) -> sa.Update:
        mine = self._mine(item, lease, name, key)
        return sa.update(externals).where(*mine).values(**values, updated_at=self.clock.now)

    def _execute(self, statement: sa.Update | sa.Delete) -> bool:
        return self.connection.execute(statement).rowcount == 1

    def of_task(self, task: int, lease_seconds: float) -> list[tuple[int, ExternalJob]]:
        """The external jobs of a task with their item ids. An intent whose worker is gone is shown as unknown."""
        return self._jobs(externals.c.task == task, lease_seconds)

    def running(self, task: int, lease_seconds: float) -> list[ExternalJob]:
        """Those that were started, and whose items have not ended."""
        open_jobs = (externals.c.task == task, externals.c.state == JobState.STARTED, items.c.state.not_in(ENDED))
        return [job for _, job in self._jobs(sa.and_(*open_jobs), lease_seconds)]

    def of_items(self, ids: Sequence[int], lease_seconds: float) -> list[tuple[int, ExternalJob]]:
        """The same for some items."""
        return self._jobs(externals.c.item.in_(ids), lease_seconds)

    def _jobs(self, chosen: sa.ColumnElement[bool], lease_seconds: float) -> list[tuple[int, ExternalJob]]:
        flying = self._in_flight(lease_seconds).label("in_flight")
        found = (
            sa.select(externals, flying, items.c.stage, items.c.seq, items.c.key.label("item_key"))
            .add_columns(items.c.state.label("item_state"))
            .add_columns(items.c.available_at, item_data.c.hold, item_data.c.hold_sentence)
            .join(items, items.c.id == externals.c.item)
            .outerjoin(item_data, item_data.c.item == items.c.id)
            .where(chosen)
            .order_by(externals.c.item, externals.c.name)
        )
        return [(row.item, _shown(row)) for row in self.connection.execute(found)]

    def decide(self, item: int, name: str, state: JobState | None) -> None:
        """Record a person's answer about a job (None leaves it open), and make its item due now.

        waiting → pending for the item; its memory, retries and idempotency key stay.
        """
        waiting = sa.and_(items.c.id == item, items.c.state == ItemState.WAITING)
        moved = sa.update(items).where(waiting).values(HANDED_BACK)
        if self.connection.execute(moved).rowcount:
            fresh = {"hold": None, "handed_back": None, "waiting_since": None}
            self.connection.execute(sa.update(item_data).where(item_data.c.item == item).values(fresh))
        if state is not None:
            mine = (externals.c.item == item, externals.c.name == name)
            said = {"state": state.value, "worker": None, "updated_at": self.clock.now}
            self.connection.execute(sa.update(externals).where(*mine).values(said))


def _shown(row: sa.Row[Any]) -> ExternalJob:
    state = JobState(row.state)
    held = row.available_at is not None and row.available_at >= HELD_FROM
    return ExternalJob(
        item=row.item_key or str(row.seq),
        stage=row.stage,
        name=row.name,
        state=JobState.UNKNOWN if state is JobState.INTENDED and not row.in_flight else state,
        key=row.key,
        job=serial.load(row.job),
        intended_at=row.intended_at,
        updated_at=row.updated_at,
        held=restored(row.hold, row.hold_sentence) if held else None,
        ended=ItemState(row.item_state) in ENDED,
    )
