"""Stores schedules and what became of each due time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.lifecycle import FINISHED_TASKS
from fanfold.model.schedule import RunOutcome
from fanfold.model.text.sentences import kept, restored
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.tables import schedule_runs, schedules, tasks

RUNS_KEPT = 200
"""Runs kept per schedule."""


class ScheduleRow(NamedTuple):
    """A schedule as stored."""

    number: int
    name: str
    owner: str
    cron: str
    zone: str
    pipeline: str
    wanted: str
    overlap: str
    catch_up: str
    paused: bool
    next_at: datetime | None
    queued_at: datetime | None
    actor: str
    created_at: datetime


class RunRow(NamedTuple):
    """What became of one due time."""

    due_at: datetime
    outcome: str
    task_id: str | None
    reason: str | None
    actor: str
    at: datetime


SHOWN = tuple(schedules.c[name] for name in ScheduleRow._fields)
UNFINISHED = tasks.c.state.not_in([state.value for state in FINISHED_TASKS])


class StoredSchedules:
    """Verbs on schedules, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, row: dict[str, Any]) -> ScheduleRow | None:
        """Store a schedule; None if its name is taken."""
        new = self.clock.dialect.insert(schedules).values(**row).on_conflict_do_nothing()
        found = self.connection.execute(new.returning(*SHOWN)).first()
        return None if found is None else ScheduleRow(*found)

    def get(self, name: str) -> ScheduleRow | None:
        """The schedule with this name."""
        found = self.connection.execute(sa.select(*SHOWN).where(schedules.c.name == name)).first()
        return None if found is None else ScheduleRow(*found)

    def all(self, owner: str | None, limit: int) -> list[ScheduleRow]:
        """All schedules, or those of an owner, by name."""
        found = sa.select(*SHOWN).order_by(schedules.c.name).limit(limit)
        if owner is not None:
            found = found.where(schedules.c.owner == owner)
        return [ScheduleRow(*row) for row in self.connection.execute(found)]

    def due(self, limit: int) -> list[ScheduleRow]:
        """Schedules with a due time that has come, and those with a run that waits for another one to end."""
        is_due = sa.or_(schedules.c.next_at <= self.clock.now, schedules.c.queued_at.is_not(None))
        found = sa.select(*SHOWN).where(schedules.c.paused.is_(False), is_due)
        return [ScheduleRow(*row) for row in self.connection.execute(found.order_by(schedules.c.next_at).limit(limit))]

    def seconds_to_next(self) -> float | None:
        """Seconds until a schedule or a task that starts later is due; None if there is none."""
        first = sa.select(sa.func.min(schedules.c.next_at)).where(schedules.c.paused.is_(False))
        later = sa.select(sa.func.min(tasks.c.start_at)).where(tasks.c.start_at.is_not(None))
        moments = [self.connection.execute(one).scalar() for one in (first, later)]
        known = [moment for moment in moments if moment is not None]
        now = self.connection.execute(sa.select(self.clock.now)).scalar_one()
        return min((moment - now).total_seconds() for moment in known) if known else None

    def move_on(self, seen: ScheduleRow, next_at: datetime | None, queued_at: datetime | None) -> bool:
        """Set the next due time if nobody else has dealt with the current one; False if somebody has. The row stays locked."""
        mine = [schedules.c.number == seen.number, schedules.c.paused.is_(False)]
        for column, value in ((schedules.c.next_at, seen.next_at), (schedules.c.queued_at, seen.queued_at)):
            mine.append(column.is_(None) if value is None else column == value)
        moved = sa.update(schedules).where(*mine).values(next_at=next_at, queued_at=queued_at)
        return self.connection.execute(moved).rowcount == 1

    def pause(self, name: str, paused: bool, next_at: datetime | None) -> bool:
        """Pause a schedule, or resume it with its next due time."""
        mine = sa.update(schedules).where(schedules.c.name == name)
        return self.connection.execute(mine.values(paused=paused, next_at=next_at, queued_at=None)).rowcount == 1

    def remove(self, number: int) -> None:
        """Remove a schedule with its runs."""
        self.connection.execute(sa.delete(schedule_runs).where(schedule_runs.c.schedule == number))
        self.connection.execute(sa.delete(schedules).where(schedules.c.number == number))

    def lock(self, number: int) -> ScheduleRow | None:
        """The schedule, locked until the transaction ends."""
        found = sa.select(*SHOWN).where(schedules.c.number == number).with_for_update()
        row = self.connection.execute(found).first()
        return None if row is None else ScheduleRow(*row)

    def is_running(self, number: int) -> bool:
        """Whether a task of this schedule is unfinished."""
        mine = sa.select(tasks.c.number).join(schedule_runs, schedule_runs.c.task_id == tasks.c.id)
        return (
            self.connection.execute(mine.where(schedule_runs.c.schedule == number, UNFINISHED).limit(1)).first()
            is not None
        )

    def note(
        self,
        number: int,
        due_at: datetime,
        outcome: RunOutcome,
        actor: str,
        *,
        task_id: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Record what became of a due time. Each has one record: a second one is refused by the primary key."""
        row = {"schedule": number, "due_at": due_at, "outcome": outcome.value, "task_id": task_id, "actor": actor}
        said = {"reason": reason, "reason_sentence": kept(reason)}
        self.connection.execute(sa.insert(schedule_runs).values(**row, **said, at=self.clock.now))
        old = sa.select(schedule_runs.c.due_at).where(schedule_runs.c.schedule == number)
        old = old.order_by(schedule_runs.c.due_at.desc()).offset(RUNS_KEPT).limit(1)
        if (last := self.connection.execute(old).scalar()) is not None:
            gone = sa.delete(schedule_runs).where(schedule_runs.c.schedule == number, schedule_runs.c.due_at <= last)
            self.connection.execute(gone)

    def free_moment(self, number: int) -> datetime:
        """The current time, or shortly after it if a run has that time: a run at a person's wish has no due time."""
        moment: datetime = self.connection.execute(sa.select(self.clock.now)).scalar_one()
        taken = sa.select(schedule_runs.c.due_at).where(schedule_runs.c.schedule == number)
        known = set(self.connection.execute(taken.where(schedule_runs.c.due_at >= moment)).scalars())
        while moment in known:
            moment += timedelta(milliseconds=1)
        return moment

    def runs(self, number: int, limit: int) -> list[RunRow]:
        """The latest runs of a schedule, newest first."""
        names = ("due_at", "outcome", "task_id", "reason", "actor", "at", "reason_sentence")
        found = sa.select(*(schedule_runs.c[name] for name in names)).where(schedule_runs.c.schedule == number)
        rows = self.connection.execute(found.order_by(schedule_runs.c.due_at.desc()).limit(limit))
        return [RunRow(row[0], row[1], row[2], restored(row[3], row[6]), row[4], row[5]) for row in rows]

    def starting(self, limit: int) -> list[int]:
        """Numbers of tasks whose start time has come."""
        due = sa.select(tasks.c.number).where(tasks.c.start_at <= self.clock.now)
        return list(self.connection.execute(due.order_by(tasks.c.start_at).limit(limit)).scalars())
