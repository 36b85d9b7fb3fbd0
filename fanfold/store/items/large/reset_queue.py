"""Queues retries and reruns of more items than one short transaction can reset.

First the items are noted, chunk by chunk; readers ignore these notes. Then one transaction decides: it moves the task and
writes the reset's token into the task's row. From then on every reader treats noted items as pending, and nothing of the task
is claimed. Last, the notes are carried out, chunk by chunk; any process may do that at any time. After a crash before the
decision the notes are dropped; after a later crash the rest is carried out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.lifecycle import ItemState
from fanfold.store.dialects.bulk import append_rows, remove_all
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.tables import items, reset_items, resets, tasks

REDO, OUTDATE, OVER = "redo", "outdate", "over"
"""Redone at a person's request; made from a redone item; started over with the whole task."""
CHUNK = 2_000
"""Most notes written or removed in one transaction: about 20 ms on SQLite."""


class Reset(NamedTuple):
    """A reset of many items of a task."""

    task: int
    token: str
    options: str | None


class Note(NamedTuple):
    """An item to be reset; with a lease, only if it has not been claimed since."""

    item: int
    kind: str
    lease: int | None


class Resets:
    """Verbs on resets, inside one transaction. The caller holds the lock of the task's row."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def begin(self, task: int, token: str, options: str | None = None) -> None:
        """Begin a reset. Takes over an undecided one, whose notes the caller must clear first."""
        made = self.clock.dialect.insert(resets).values(task=task, token=token, options=options, at=self.clock.now)
        new = {name: made.excluded[name] for name in ("token", "options", "at")}
        self.connection.execute(made.on_conflict_do_update(index_elements=["task"], set_=new))

    def get(self, task: int) -> Reset | None:
        """The current reset of a task, decided or not."""
        found = sa.select(*(resets.c[name] for name in Reset._fields)).where(resets.c.task == task)
        row = self.connection.execute(found).first()
        return None if row is None else Reset(*row)

    def refresh(self, task: int, token: str) -> bool:
        """Renew the reset; False if another one has begun."""
        mine = sa.update(resets).where(resets.c.task == task, resets.c.token == token)
        return self.connection.execute(mine.values(at=self.clock.now)).rowcount == 1

    def note(self, task: int, token: str, notes: Iterable[Note]) -> None:
        """Note items to be reset."""
        rows = [(note.item, task, token, note.kind, note.lease) for note in notes]
        append_rows(self.connection, reset_items, ("item", "task", "token", "kind", "lease"), rows)

    def notes(self, task: int, token: str, limit: int) -> list[Note]:
        """The next items to reset."""
        mine = sa.select(*(reset_items.c[name] for name in Note._fields)).where(reset_items.c.task == task)
        mine = mine.where(reset_items.c.token == token).order_by(reset_items.c.item).limit(limit)
        return [Note(*row) for row in self.connection.execute(mine).all()]

    def drop(self, notes: Iterable[Note]) -> None:
        """Remove notes that have been carried out."""
        remove_all(self.connection, reset_items.c.item, [note.item for note in notes])

    def clear(self, task: int, limit: int | None = None) -> bool:
        """Remove undecided notes, at most ``limit``; True when none is left."""
        limit = CHUNK if limit is None else limit
        some = sa.select(reset_items.c.item).where(reset_items.c.task == task).order_by(reset_items.c.item).limit(limit)
        return self.connection.execute(sa.delete(reset_items).where(reset_items.c.item.in_(some))).rowcount < limit

    def end(self, task: int) -> None:
        """End the reset: nothing is left to carry out or to clear."""
        self.connection.execute(sa.delete(resets).where(resets.c.task == task))
        self.connection.execute(sa.update(tasks).where(tasks.c.number == task).values(resetting=None))

    def abandoned(self, seconds: float, limit: int) -> list[Reset]:
        """Resets not refreshed for ``seconds``, the oldest first."""
        old = sa.select(*(resets.c[name] for name in Reset._fields)).where(resets.c.at <= self.clock.before(seconds))
        return [Reset(*row) for row in self.connection.execute(old.order_by(resets.c.at).limit(limit))]


def reset_kind() -> sa.ScalarSelect[Any]:
    """The kind of decided reset that awaits an item; NULL for nearly all items."""
    return _noted(reset_items.c.kind).scalar_subquery()


def is_reset() -> sa.ColumnElement[bool]:
    """A decided reset has made the item pending, although its row does not say so yet."""
    return sa.exists(_noted(reset_items.c.item))


def _noted(column: sa.Column[Any]) -> sa.Select[Any]:
    unchanged = sa.or_(reset_items.c.lease.is_(None), reset_items.c.lease == items.c.lease)
    return sa.select(column).where(reset_items.c.item == items.c.id, unchanged, _is_decided()).correlate(items)


def _is_decided() -> sa.ColumnElement[bool]:
    decided = sa.select(tasks.c.number).where(tasks.c.number == reset_items.c.task)
    return sa.exists(decided.where(tasks.c.resetting == reset_items.c.token).correlate(reset_items))


def counted_back() -> sa.Select[Any]:
    """(task, stage, state, -count) of the items that a reset has made pending although their rows say another state.

    Filter tasks by the column of the notes: by the items' column, SQLite would look up a note for every item.
    """
    unchanged = sa.or_(reset_items.c.lease.is_(None), reset_items.c.lease == items.c.lease)
    return (
        sa.select(items.c.task, items.c.stage, items.c.state, -sa.func.count())
        .join(reset_items, sa.and_(reset_items.c.item == items.c.id, unchanged))
        .where(_is_decided())
        .group_by(items.c.task, items.c.stage, items.c.state)
    )


STATE_NOW = sa.case((is_reset(), ItemState.PENDING.value), else_=items.c.state)
"""The state of an item as readers see it."""
