"""Stores which subtasks an item has, and makes the item due when those that it waits for are over.

An item that starts to wait and a subtask that ends may meet. Both lock the item's row before they look at the other, so the later
one sees what the earlier one did, and no wake-up is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from fanfold.model.awaited.subtask import ParentItem, SubtaskRow
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.store.dialects.dialect import Dialect
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.claim import task_is_active
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import HELD, RUNNING, UNFINISHED, item_data, items, subtasks, tasks

SHOWN = tuple(subtasks.c[name] for name in SubtaskRow._fields)
PARENTS = tasks.alias("parents")
WITH_PARENTS = tasks.outerjoin(PARENTS, PARENTS.c.number == tasks.c.parent)
"""Made at import: SQLAlchemy makes the columns of an alias at the first use, and two threads may make different ones."""


class Subtasks:
    """Verbs on subtasks, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def get(self, item: int, name: str) -> SubtaskRow | None:
        """The subtask that an item has under this name."""
        mine = sa.select(*SHOWN).where(subtasks.c.item == item, subtasks.c.name == name)
        row = self.connection.execute(mine).first()
        return None if row is None else SubtaskRow(*row)

    def may_submit(self, item: int, lease: int) -> bool:
        """Whether the item still runs under this lease and its task wants it; its row stays locked."""
        wanted = task_is_active(items.c.task, items.c.stage)
        held = sa.select(items.c.id).where(items.c.id == item, items.c.lease == lease, RUNNING, wanted)
        return self.connection.execute(held.with_for_update(of=items)).first() is not None

    def put(self, parent: ParentItem, name: str, key: str, child_id: str) -> None:
        """Record a new subtask under its name, instead of one of an earlier generation of the item."""
        child = self.connection.execute(sa.select(tasks.c.number).where(tasks.c.id == child_id)).scalar_one()
        values: dict[str, Any] = {"key": key, "child": child, "child_id": child_id, "awaited": False, "told": False}
        values["at"] = self.clock.now
        made = self.clock.dialect.insert(subtasks).values(item=parent.item, name=name, task=parent.task, **values)
        self.connection.execute(made.on_conflict_do_update(index_elements=["item", "name"], set_=values))

    def depth(self, task: int) -> int:
        """How many tasks are above this one."""
        depth = 0
        above = sa.select(tasks.c.parent).where(tasks.c.number == sa.bindparam("of"))
        while (parent := self.connection.execute(above, {"of": task}).scalar()) is not None:
            depth, task = depth + 1, parent
        return depth

    def tell(self, item: int, names: Sequence[str]) -> None:
        """Record that the failure of these subtasks has made their item fail."""
        mine = (subtasks.c.item == item, subtasks.c.name.in_(names))
        self.connection.execute(sa.update(subtasks).where(*mine).values(told=True))

    def forget_told(self, item: int, name: str) -> None:
        """The item runs again after that failure, so the subtask is retried."""
        mine = (subtasks.c.item == item, subtasks.c.name == name)
        self.connection.execute(sa.update(subtasks).where(*mine).values(told=False))

    def wait(self, item: int, names: Sequence[str]) -> None:
        """Record which subtasks a postponed item waits for; it is due at once if all of them are over.

        The caller has just moved the item and so locked it. The time does not count as waiting for an external job.
        """
        mine = sa.update(subtasks).where(subtasks.c.item == item)
        self.connection.execute(mine.values(awaited=subtasks.c.name.in_(names)))
        self.connection.execute(sa.update(item_data).where(item_data.c.item == item).values(waiting_since=None))
        self._wake_if_over(item)

    def ended(self, child: int, item: int) -> bool:
        """A subtask has ended, or is being deleted: its parent's item is due if it waits for no other one."""
        locked = sa.select(items.c.id).where(items.c.id == item).with_for_update(key_share=True)
        if self.connection.execute(locked).first() is None:
            return False
        awaited = sa.select(subtasks.c.name).where(
            subtasks.c.child == child, subtasks.c.item == item, subtasks.c.awaited
        )
        return self.connection.execute(awaited).first() is not None and self._wake_if_over(item, but=child)

    def _wake_if_over(self, item: int, but: int | None = None) -> bool:
        unfinished = (
            sa.select(tasks.c.number)
            .join(subtasks, subtasks.c.child == tasks.c.number)
            .where(subtasks.c.item == item, subtasks.c.awaited, UNFINISHED, tasks.c.number != (but or 0))
        )
        if self.connection.execute(unfinished.limit(1)).first() is not None:
            return False
        waits = (items.c.id == item, items.c.state == ItemState.WAITING, ~HELD, items.c.available_at > self.clock.now)
        due = sa.update(items).where(*waits).values(available_at=self.clock.now)
        return self.connection.execute(due).rowcount == 1

    def out_of_step(self, limit: int, parent: int | None = None) -> list[int]:
        """Unfinished subtasks that may have to follow their parents (`model.subtask.following` decides), or one parent's."""
        values = {"most": limit} | ({} if parent is None else {"of": parent})
        return [number for (number,) in run(self.connection, out_of_step_statement(parent is not None), values)]

    def is_wanted(self, child: int) -> bool:
        """Whether an item still has this subtask under a name."""
        return self.connection.execute(sa.select(subtasks.c.item).where(subtasks.c.child == child)).first() is not None

    def children(self, parent: int, limit: int) -> list[int]:
        """The numbers of the subtasks of a task, also of those that its items no longer have."""
        found = sa.select(tasks.c.number).where(tasks.c.parent == parent).order_by(tasks.c.number).limit(limit)
        return list(self.connection.execute(found).scalars())

    def counts(self, parents: Sequence[int]) -> dict[int, dict[str, int]]:
        """How many subtasks tasks have, by state."""
        found: dict[int, dict[str, int]] = {}
        values = {"ids": list(parents)}
        for parent, state, count in run(self.connection, counts_statement(self.clock.dialect), values):
            found.setdefault(parent, {})[state] = count
        return found

    def awaited(self, parents: Sequence[int]) -> dict[int, tuple[int, str]]:
        """How many unfinished subtasks the items of tasks wait for, and the id of one of them."""
        counted = (
            sa.select(subtasks.c.task, sa.func.count(), sa.func.min(subtasks.c.child_id))
            .join(tasks, tasks.c.number == subtasks.c.child)
            .where(subtasks.c.task.in_(parents), subtasks.c.awaited, UNFINISHED)
            .group_by(subtasks.c.task)
        )
        return {task: (count, child) for task, count, child in self.connection.execute(counted)}

    def origins(self, children: Sequence[int]) -> dict[int, tuple[str, str | None, str | None]]:
        """The parent's id, and the stage and key of the item that submitted it, for each subtask; None if the item is gone."""
        found = (
            sa.select(tasks.c.number, PARENTS.c.id, items.c.stage, items.c.key, items.c.seq)
            .join(PARENTS, PARENTS.c.number == tasks.c.parent)
            .outerjoin(items, items.c.id == tasks.c.parent_item)
            .where(tasks.c.number.in_(children))
        )
        rows = self.connection.execute(found)
        return {row[0]: (row[1], row[2], None if row[2] is None else row[3] or str(row[4])) for row in rows}


@lru_cache(maxsize=4)
def counts_statement(dialect: Dialect) -> sa.Select[Any]:
    """Count the subtasks of tasks by state."""
    counted = sa.select(tasks.c.parent, tasks.c.state, sa.func.count()).where(dialect.among(tasks.c.parent))
    return counted.group_by(tasks.c.parent, tasks.c.state)


@lru_cache(maxsize=2)
def out_of_step_statement(of_one: bool) -> sa.Select[Any]:
    """Unfinished subtasks that may have to follow their parents, of all parents or of one."""
    cancelled = TaskState.CANCELLED.value
    is_paused = PARENTS.c.state == TaskState.PAUSED.value
    wanted = sa.select(subtasks.c.item).where(subtasks.c.child == tasks.c.number).exists()
    unwanted = sa.or_(PARENTS.c.number.is_(None), PARENTS.c.state == cancelled, PARENTS.c.ending == cancelled, ~wanted)
    runs_on = sa.and_(is_paused, tasks.c.state == TaskState.ACTIVE.value)
    stands = sa.and_(tasks.c.state == TaskState.PAUSED.value, tasks.c.by_parent.is_(True), ~is_paused)
    found = sa.select(tasks.c.number).select_from(WITH_PARENTS)
    found = found.where(UNFINISHED, tasks.c.ending.is_(None), sa.or_(unwanted, runs_on, stands))
    if of_one:
        found = found.where(tasks.c.parent == sa.bindparam("of", type_=sa.BigInteger))
    return found.order_by(tasks.c.parent).limit(sa.bindparam("most", type_=sa.Integer))
