"""The rows that reference blobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from fanfold.model.values.files import File
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.tables import blobs, items, tasks


class Blobs:
    """Verbs on the rows that reference blobs, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, key: str, task: int, name: str, size: int, item: int | None = None, lease: int | None = None) -> None:
        """Add the row of a blob that is already written."""
        row: dict[str, Any] = {"key": key, "task": task, "name": name, "size": size, "item": item, "lease": lease}
        self.connection.execute(sa.insert(blobs).values(**row, created_at=self.clock.now))

    def add_files(self, task: int, files: Sequence[File]) -> None:
        """Add the rows of blobs of a task that are already written."""
        if files:
            made = sa.insert(blobs).values(created_at=self.clock.now)
            rows = [{"key": file.key, "task": task, "name": file.name, "size": file.size} for file in files]
            self.connection.execute(made, rows)

    def give_to_task(self, keys: Sequence[str]) -> None:
        """Let blobs of an attempt outlive it: they belong to its task from now on."""
        if keys:
            self.connection.execute(sa.update(blobs).where(blobs.c.key.in_(keys)).values(item=None, lease=None))

    def drop_keys(self, keys: Sequence[str]) -> None:
        """Remove the rows of these blobs."""
        if keys:
            self.connection.execute(sa.delete(blobs).where(blobs.c.key.in_(keys)))

    def drop_some(self, task: int, limit: int) -> list[str]:
        """Remove the rows of at most ``limit`` blobs of a task; returns their keys, to be deleted after the commit."""
        keys = list(self.connection.execute(sa.select(blobs.c.key).where(blobs.c.task == task).limit(limit)).scalars())
        self.connection.execute(sa.delete(blobs).where(blobs.c.key.in_(keys)))
        return keys

    def find(self, task: int, key: str) -> tuple[str, int] | None:
        """(name, size) of a blob that belongs to this task."""
        named = sa.select(blobs.c.name, blobs.c.size).where(blobs.c.key == key, blobs.c.task == task)
        row = self.connection.execute(named).first()
        return None if row is None else (row.name, row.size)

    def known(self, keys: Sequence[str]) -> set[str]:
        """The given keys that have a row."""
        return set(self.connection.execute(sa.select(blobs.c.key).where(blobs.c.key.in_(keys))).scalars())

    def names(self, keys: Sequence[str]) -> dict[str, str]:
        """The names that the rows of the given keys have."""
        found = sa.select(blobs.c.key, blobs.c.name).where(blobs.c.key.in_(keys))
        return {row.key: row.name for row in self.connection.execute(found)}

    def superseded(self, limit: int, keys: Sequence[str] | None = None) -> list[str]:
        """Blobs of finished tasks from attempts whose result does not count. May read all blobs, or only ``keys``."""
        current = sa.select(items.c.id).where(items.c.id == blobs.c.item, items.c.lease == blobs.c.lease)
        over = sa.select(tasks.c.number).where(tasks.c.number == blobs.c.task, tasks.c.finished_at.is_not(None))
        left = sa.select(blobs.c.key).where(
            blobs.c.item.is_not(None), ~sa.exists(current.correlate(blobs)), sa.exists(over.correlate(blobs))
        )
        if keys is not None:
            left = left.where(blobs.c.key.in_(keys))
        return list(self.connection.execute(left.limit(limit)).scalars())

    def drop_superseded(self, keys: Sequence[str]) -> list[str]:
        """Remove the rows of blobs that are still superseded; returns the keys to delete."""
        keys = self.superseded(len(keys), keys)
        self.connection.execute(sa.delete(blobs).where(blobs.c.key.in_(keys)))
        return keys
