"""Finds tasks and items by id or key; with an owner, only among that owner's tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fanfold.engine.queries.task_view import counted_stage, view
from fanfold.errors import BadInput, NotFound, Unreadable
from fanfold.model.pipelines.kept_types import NO_TYPES, KeptTypes
from fanfold.model.task import Task, TaskRow
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import shown
from fanfold.model.values.decoding import PLAIN, Reading, unreadable
from fanfold.store.items.query import ItemRow
from fanfold.store.store import Store, Transaction

TypesOf = Callable[[str], KeptTypes]
"""The types of a pipeline, by its name."""


class Lookup:
    """Finds the task and item that a query is about."""

    def __init__(self, store: Store, owner: str | None = None, types: TypesOf | None = None) -> None:
        self.store = store
        self.owner = owner
        self._types_of = types

    def types(self, row: TaskRow) -> tuple[KeptTypes, Reading]:
        """The types of a task's values, and how to read them; by default they are returned as stored JSON."""
        if self._types_of is None:
            return NO_TYPES, PLAIN
        found = self._types_of(row.pipeline)
        return found, found.lenient

    def unfold(self, row: TaskRow, text: str | None, what: str, hint: Any = Any) -> Any:
        """A stored value of a task; ``what`` names it in the error."""
        try:
            return self.store.unfold(text, self.types(row)[1], hint)
        except Unreadable as problem:
            raise unreadable(what, problem) from problem

    def row(self, task_id: str) -> TaskRow:
        """The task with this id or unambiguous prefix."""
        if not isinstance(task_id, str):
            raise BadInput(say("id_not_text", value=shown(task_id)))
        with self.store.read() as tx:
            return tx.tasks.resolve(task_id, self.owner)

    def view(self, row: TaskRow) -> Task:
        """The task as people see it."""
        with self.store.read() as tx:
            return view(self.store, tx, [row])[0]

    def item(self, tx: Transaction, row: TaskRow, key: str, stage: str | None) -> ItemRow:
        """The item with this key, by default of the stage people count."""
        name = chosen_stage(tx, row, stage)
        rows = tx.reading.page(row.number, stage=name, keys=[key], limit=1)
        if not rows:
            raise no_item(row, key, name)
        return rows[0]

    def item_id(self, tx: Transaction, row: TaskRow, stage: str, key: str) -> int:
        """The number of the item with this key."""
        found = tx.reading.ids(row.number, stage, [key])
        if not found:
            raise no_item(row, key, stage)
        return found[0]


def chosen_stage(tx: Transaction, row: TaskRow, stage: str | None) -> str:
    """The stage with this name, or by default the one people count."""
    if stage:
        return row.plan.stage(stage).name
    return counted_stage(row.plan, row.stage, tx.counting.counts([row.number]).get(row.number, {}))


def no_item(row: TaskRow, key: str, stage: str) -> NotFound:
    """The error for a missing item, with where to look."""
    return NotFound(say("no_such_items_in", task=row.id, keys=key[:200], stage=stage))


def check_limit(limit: int | None) -> None:
    """BadInput if the limit allows no rows."""
    if limit is not None and limit < 1:
        raise BadInput(say("limit_low", limit=limit))
