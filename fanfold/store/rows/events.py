"""The append-only log of moves, commands and errors, with actor and reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from itertools import takewhile
from typing import Any

import sqlalchemy as sa

from fanfold.model.lifecycle import TaskState
from fanfold.model.task import Event
from fanfold.model.text.sentences import kept, restored
from fanfold.store.dialects.dialect import Row
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.statements import fetch_value, run
from fanfold.store.schema.tables import events, tasks

REASON_LENGTH = 1_000
NAMES = ("actor", "verb", "source", "target", "stage", "item", "reason", "reason_sentence")
COLUMNS: dict[str, sa.types.TypeEngine[Any]] = {"task": sa.BigInteger()} | {name: sa.Text() for name in NAMES}


@lru_cache(maxsize=64)
def add_statement(clock: SqlClock) -> sa.Insert:
    """Insert many events in one statement. Built once."""
    batch = clock.dialect.unfolded(COLUMNS)
    return sa.insert(events).from_select([*COLUMNS, "at"], sa.select(*batch.c, clock.now))


class Events:
    """Verbs on events, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, rows: Sequence[Row]) -> None:
        """Store events. Rows have ``task`` (its number), ``actor``, ``verb`` and any further columns."""
        if not rows:
            return
        run(self.connection, add_statement(self.clock), {"rows": [self._row(row) for row in rows]})

    def _row(self, row: Row) -> dict[str, Any]:
        filled = {name: row.get(name) for name in COLUMNS}
        if reason := filled["reason"]:
            filled["reason"] = str(reason)[:REASON_LENGTH]
            filled["reason_sentence"] = kept(reason, filled["reason"])
        return filled

    def of(self, task: int, after: int = 0, limit: int = 1_000) -> list[Event]:
        """Events of a task with an id above ``after``, in order."""
        wanted = _events().where(events.c.task == task, events.c.id > after).order_by(events.c.id).limit(limit)
        return self._found(wanted)

    def latest_of(self, task: int, before: int | None = None, limit: int = 100) -> list[Event]:
        """The last events of a task, or the last with an id below ``before``, the newest first."""
        wanted = _events().where(events.c.task == task).order_by(events.c.id.desc()).limit(limit)
        return self._found(wanted if before is None else wanted.where(events.c.id < before))

    def stages_of(self, task: int, limit: int = 10_000) -> list[Event]:
        """The events of a task about whole stages, in order."""
        moved = sa.and_(events.c.task == task, events.c.item.is_(None), events.c.stage.is_not(None))
        return self._found(_events().where(moved).order_by(events.c.id).limit(limit))

    def changed(self, after: int, owner: str | None = None, limit: int = 200) -> list[str]:
        """Ids of the tasks, or of one owner's tasks, with events above ``after``, the newest event first."""
        found = sa.select(tasks.c.id).join(events, events.c.task == tasks.c.number).where(events.c.id > after)
        if owner is not None:
            found = found.where(tasks.c.owner == owner)
        newest = sa.func.max(events.c.id).desc()
        return list(self.connection.execute(found.group_by(tasks.c.id).order_by(newest).limit(limit)).scalars())

    def newest(self) -> int:
        """The id of the newest event of all tasks; 0 if there is none."""
        return int(self.connection.execute(sa.select(sa.func.max(events.c.id))).scalar() or 0)

    def last(self, task: int) -> int:
        """The id of the newest event of a task; 0 if there is none. Every command adds an event."""
        return int(fetch_value(self.connection, LAST, {"of": task}) or 0)

    def last_at(self, task: int, verbs: Sequence[str]) -> datetime | None:
        """Time of a task's last event with one of the verbs. May read all events of the task."""
        mine = sa.select(events.c.at).where(events.c.task == task, events.c.verb.in_(verbs))
        return self.connection.execute(mine.order_by(events.c.id.desc()).limit(1)).scalar()

    def has_completed(self, task: int) -> bool:
        """Whether a task has completed since it was submitted or last rerun."""
        told = sa.or_(events.c.verb == "rerun", events.c.target == TaskState.COMPLETED.value)
        newest = sa.select(events.c.verb).where(events.c.task == task, told).order_by(events.c.id.desc()).limit(1)
        return self.connection.execute(newest).scalar() not in (None, "rerun")

    def moved_since(self, task: int, event: int) -> bool:
        """Whether a task has moved since that event. Reads only newer events; events of items are not moves."""
        return bool(run(self.connection, MOVED_SINCE, {"of": task, "since": event}))

    def latest_run(self, task: int, verb: str, most: int) -> tuple[int, datetime | None]:
        """How many of a task's newest events in a row have this verb (at most ``most``), and the time of the last."""
        newest = list(takewhile(lambda event: event.verb == verb, self.latest_of(task, limit=most)))
        return len(newest), newest[0].at if newest else None

    def touched(self, after: int, limit: int = 10_000) -> dict[int, int]:
        """Event → task (its number) for the events of all tasks with an id above ``after``."""
        wanted = sa.select(events.c.id, events.c.task).where(events.c.id > after).order_by(events.c.id).limit(limit)
        return {row.id: row.task for row in self.connection.execute(wanted)}

    def _found(self, wanted: sa.Select[Any]) -> list[Event]:
        return [
            Event(
                row.id,
                row.task_id,
                row.at,
                row.actor,
                row.verb,
                row.source,
                row.target,
                row.stage,
                row.item,
                restored(row.reason, row.reason_sentence),
            )
            for row in self.connection.execute(wanted)
        ]


_OF = events.c.task == sa.bindparam("of")
LAST = sa.select(events.c.id).where(_OF).order_by(events.c.id.desc()).limit(1)
MOVED_SINCE = sa.select(events.c.id).where(_OF, events.c.id > sa.bindparam("since"), events.c.item.is_(None)).limit(1)


def _events() -> sa.Select[Any]:
    return sa.select(events, tasks.c.id.label("task_id")).join(tasks, tasks.c.number == events.c.task)
