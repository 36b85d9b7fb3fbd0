"""Removes tasks: first the task's row, in one short transaction, then everything that belonged to it, in several more.

A row of `deleted_tasks` stays until nothing is left, so that a sweep can continue after a crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from fanfold.store.dialects.bulk import remove_all, remove_rows
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.locks import lock_items
from fanfold.store.rows.money.answers import USED, Answers
from fanfold.store.rows.money.batched_questions import BatchedQuestions
from fanfold.store.rows.money.budgets import task_scope
from fanfold.store.schema.money.budget_tables import budgets
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import (
    OF_TASKS,
    batch_members,
    blobs,
    calls,
    deleted_tasks,
    externals,
    item_data,
    items,
    permits,
    task_tags,
    tasks,
)

CHUNK = 2_000
"""Most rows removed in one transaction, over all tables: about 20 ms on SQLite."""
ROWS_PER_ITEM = 2
"""The item and its row of data. Permits, and external jobs, which may be many, are counted separately."""
JOBS_SHARE = 4
"""At most one row in so many may be an external job."""
REST = tuple(table for table in OF_TASKS if table not in (items, blobs, calls, task_tags, batch_members))
"""Tables removed row by row after the items. Tags go with the task; files, calls and questions are handled separately."""


@dataclass
class RemovalPlace:
    """How far the items of a deleted task are removed, so that the next step does not start before them.

    PostgreSQL keeps the index entries of removed rows: from the beginning, each step would read those of all steps before it.
    A step that is rolled back leaves items before this place, so the removal ends only when there are none from the beginning.
    """

    stage: str = ""
    seq: int = 0


class Removal:
    """Verbs that remove a task, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def begin(self, number: int) -> None:
        """Remove the task's row, so that it is gone for everyone; the caller holds its lock.

        On PostgreSQL this waits for handlers that are writing for the task right now. Later ones find it gone.
        """
        self._delete(tasks, tasks.c.number == number)
        self._delete(task_tags, task_tags.c.task == number)
        self.connection.execute(sa.insert(deleted_tasks).values(task=number, deleted_at=self.clock.now))

    def unfinished(self, limit: int) -> list[int]:
        """Deleted tasks with something left to remove, the first deleted first."""
        found = sa.select(deleted_tasks.c.task).order_by(deleted_tasks.c.deleted_at).limit(limit)
        return list(self.connection.execute(found).scalars())

    def remove_some(self, number: int, limit: int | None = None, place: RemovalPlace | None = None) -> bool:
        """Remove at most ``limit`` rows of a deleted task, except those that reference its files; True when all are gone.

        Items go first, locked by id: this waits for workers settling one, and nothing can be added to a removed item.
        ``place`` is where the last step ended, and is moved on.
        """
        place = place or RemovalPlace()
        left = CHUNK if limit is None else limit
        at_once = max(1, left // ROWS_PER_ITEM)
        ids, whole = self._lock_some(number, at_once, place)
        if ids:
            most = max(1, left // JOBS_SHARE)
            jobs = remove_rows(self.connection, externals, ids, most)
            if jobs == most:
                place.stage, place.seq = "", 0
                return False
            left -= jobs + remove_all(self.connection, permits.c.item, ids)
            if len(ids) > (fitting := max(1, left // ROWS_PER_ITEM)):
                ids, whole = ids[:fitting], False
                place.stage, place.seq = "", 0
            left -= sum(remove_all(self.connection, column, ids) for column in (item_data.c.item, items.c.id))
        if not whole:
            return False
        left -= BatchedQuestions(self.connection, self.clock).remove(number, left)
        for table in REST:
            if left <= 0:
                return False
            left -= self._remove_rows(table, number, left)
        return left > 1 and self._remove_calls(number, left // 2)

    def _lock_some(self, number: int, most: int, place: RemovalPlace) -> tuple[list[int], bool]:
        """The next items after a place, locked in order of their ids, and whether they are the last of all."""
        began = place.stage, place.seq
        values = {"of": number, "stage_before": place.stage, "seq_before": place.seq, "most": most}
        found = run(self.connection, SOME_OF_TASK, values)
        ids = [id_ for id_, _, _ in found]
        whole = len(found) < most
        if found:
            _, place.stage, place.seq = found[-1]
            lock_items(self.connection, ids)
        if whole and began != ("", 0):
            place.stage, place.seq = "", 0
            return ids, False
        return ids, whole

    def files(self, number: int, limit: int = CHUNK) -> list[str]:
        """Keys of blobs that rows still reference."""
        return list(
            self.connection.execute(sa.select(blobs.c.key).where(blobs.c.task == number).limit(limit)).scalars()
        )

    def unname(self, keys: Sequence[str]) -> None:
        """Remove the rows of blobs whose files are removed."""
        self._delete(blobs, blobs.c.key.in_(keys))

    def end(self, number: int) -> None:
        """Remove the budget when nothing else is left: calls that end now lock their row of the ledger before it."""
        self._delete(budgets, budgets.c.scope == task_scope(number))
        self._delete(deleted_tasks, deleted_tasks.c.task == number)

    def _remove_rows(self, table: sa.Table, number: int, limit: int) -> int:
        key = tuple(table.primary_key)
        some = sa.select(*key).where(table.c.task == number).limit(limit)
        # PostgreSQL must lock rows in a fixed order; SQLite would sort all of them for it.
        if self.clock.dialect.locks_rows:
            some = some.order_by(*key)
        return self._delete(table, key[0].in_(some) if len(key) == 1 else sa.tuple_(*key).in_(some))

    def _remove_calls(self, number: int, limit: int) -> bool:
        """Remove calls, and answers that no other task has used: a deleted task leaves none of its texts behind."""
        used = sa.case((calls.c.outcome.in_(USED), calls.c.answer))
        some = sa.select(calls.c.id, used.label("answer")).where(calls.c.task == number).order_by(calls.c.id)
        found = self.connection.execute(some.limit(limit)).all()
        if found:
            Answers(self.connection, self.clock).drop_unused(number, [row.answer for row in found if row.answer])
            remove_all(self.connection, calls.c.id, [row.id for row in found])
        return len(found) < limit

    def _delete(self, table: sa.Table, chosen: sa.ColumnElement[Any]) -> int:
        return self.connection.execute(sa.delete(table).where(chosen)).rowcount


SOME_OF_TASK = (
    sa.select(items.c.id, items.c.stage, items.c.seq)
    .where(items.c.task == sa.bindparam("of"))
    .where(
        sa.tuple_(items.c.stage, items.c.seq)
        > sa.tuple_(sa.bindparam("stage_before", type_=sa.Text), sa.bindparam("seq_before", type_=sa.Integer))
    )
    .order_by(items.c.stage, items.c.seq)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
"""In the order of an index: ordered by id, either database would read and sort all items of the task."""
