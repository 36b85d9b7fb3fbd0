"""Reads items: pages of items, results in order, and items by key. Read-only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from fanfold.model.item import position_of
from fanfold.model.lifecycle import ItemState
from fanfold.model.text.sentences import restored
from fanfold.model.text.texts import is_storable
from fanfold.store.items.kept import KeptItems
from fanfold.store.items.large.drafts import counts_at, counts_of
from fanfold.store.items.large.reset_queue import REDO, is_reset, reset_kind
from fanfold.store.items.pending import FORGOTTEN, STARTED_OVER, without_results
from fanfold.store.schema.tables import (
    DEGRADED,
    DUE_SOME_TIME,
    OPEN,
    item_data,
    items,
)

PAGE = 500
AT_ONCE = 5_000
"""Most values in one statement."""


@dataclass(frozen=True, kw_only=True)
class ItemRow:
    """An item with its data as stored; lists omit the large columns."""

    id: int
    stage: str
    seq: int
    key: str
    state: str
    lease: int
    worker: str | None
    attempts: int
    failures: int
    crashes: int
    available_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    error_code: str | None
    error_message: str | None
    model: str | None
    usage: str | None
    progress: float
    message: str | None
    made_by: str | None
    degraded: str | None
    accepted: int | None
    hold: str | None
    input: str | None = None
    output: str | None = None
    error_detail: str | None = None
    options: str | None = None
    previous: str | None = None
    previous_model: str | None = None


class ItemReading(KeptItems):
    """Queries about items, inside one transaction."""

    def single(self, tasks: Sequence[int], stage: str) -> dict[int, tuple[float, str | None]]:
        """Progress and message of the item of each of these tasks, which have one item in this stage."""
        wanted = (
            sa.select(items.c.task, item_data.c.progress, item_data.c.message)
            .join(items, items.c.id == item_data.c.item)
            .where(items.c.task.in_(tasks), items.c.stage == stage, counts_at(items.c.task, stage))
        )
        return {row.task: (float(row.progress or 0.0), row.message) for row in self.connection.execute(wanted)}

    def next_due_at(self, task: int) -> datetime | None:
        """When the next timed item of a task is due."""
        mine = (items.c.task == task, DUE_SOME_TIME, counts_of(task), ~is_reset())
        due = sa.select(sa.func.min(items.c.available_at)).where(*mine)
        return self.connection.execute(due).scalar()

    def page(
        self,
        task: int,
        *,
        stage: str | None = None,
        states: Sequence[str] = (),
        after: int = 0,
        limit: int = PAGE,
        keys: Sequence[str] = (),
        degraded: bool | None = None,
        bodies: bool = True,
    ) -> list[ItemRow]:
        """Items with an id above ``after``, in order; the large columns only with ``bodies``."""
        wanted = _items(bodies).where(items.c.task == task, items.c.id > after).order_by(items.c.id).limit(limit)
        if stage is None:
            wanted = wanted.where(counts_of(task))
        else:
            wanted = wanted.where(items.c.stage == stage, counts_at(task, stage))
        if states:
            wanted = wanted.where(_in_states(states))
        if degraded is not None:
            marked = sa.and_(DEGRADED, ~is_reset())
            wanted = wanted.where(marked if degraded else ~marked)
        if keys:
            wanted = wanted.where(items.c.id.in_(self.ids(task, stage, keys)))
        return [_row(row) for row in self.connection.execute(wanted)]

    def results(self, task: int, stage: str, after: int, limit: int = PAGE, *, bodies: bool = True) -> list[ItemRow]:
        """Items of a stage with a position above ``after``, in order; ``bodies`` as for a page."""
        wanted = (
            _items(bodies)
            .where(items.c.task == task, items.c.stage == stage, items.c.seq > after, counts_at(task, stage))
            .order_by(items.c.seq)
            .limit(limit)
        )
        return [_row(row) for row in self.connection.execute(wanted)]

    def ids(self, task: int, stage: str | None, keys: Sequence[str]) -> list[int]:
        """Ids of the items with these keys. The position serves as the key of an item without one."""
        found: set[int] = set()
        for start in range(0, len(keys), AT_ONCE):
            found |= self._ids(task, stage, keys[start : start + AT_ONCE])
        return sorted(found)

    def _ids(self, task: int, stage: str | None, keys: Sequence[str]) -> set[int]:
        keys = [key for key in keys if is_storable(key)]
        positions = [position for key in keys if (position := position_of(key)) is not None]
        wanted = sa.select(items.c.id).where(items.c.task == task)
        if stage is None:
            wanted = wanted.where(counts_of(task))
        else:
            wanted = wanted.where(items.c.stage == stage, counts_at(task, stage))
        # Two queries, each with its own index: with OR, SQLite would read the whole stage.
        named = (items.c.key.in_(keys), sa.and_(items.c.key.is_(None), items.c.seq.in_(positions)))
        return {id_ for condition in named for id_ in self.connection.execute(wanted.where(condition)).scalars()}

    def known_keys(
        self, task: int, stage: str, keys: Sequence[str], states: Sequence[str] = tuple(ItemState)
    ) -> set[str]:
        """The given keys that a stage has, of items in one of the states."""
        found: set[str] = set()
        for start in range(0, len(keys), AT_ONCE):
            ids = self._ids(task, stage, keys[start : start + AT_ONCE])
            named = sa.select(items.c.key, items.c.seq).where(items.c.id.in_(ids), _in_states(states))
            found |= {row.key or str(row.seq) for row in self.connection.execute(named)}
        return found

    def own_options(self, task: int, stage: str, keys: Sequence[str]) -> dict[str, str]:
        """The options (JSON) of those items of a stage that have their own, by key."""
        found: dict[str, str] = {}
        for start in range(0, len(keys), AT_ONCE):
            ids = self._ids(task, stage, keys[start : start + AT_ONCE])
            named = sa.select(items.c.key, items.c.seq, item_data.c.options).join(
                item_data, item_data.c.item == items.c.id
            )
            named = named.where(items.c.id.in_(ids), item_data.c.options.is_not(None))
            found |= {row.key or str(row.seq): row.options for row in self.connection.execute(named)}
        return found

    def keys_at(self, task: int, stage: str, positions: Sequence[int], states: Sequence[str]) -> list[str]:
        """Keys of the items at these positions of a stage that are in one of the states, in order."""
        found: list[str] = []
        for start in range(0, len(positions), AT_ONCE):
            some = items.c.seq.in_(positions[start : start + AT_ONCE])
            wanted = sa.select(items.c.key, items.c.seq).where(items.c.task == task, items.c.stage == stage, some)
            wanted = wanted.where(_in_states(states), counts_at(task, stage))
            rows = self.connection.execute(wanted.order_by(items.c.seq))
            found += [row.key or str(row.seq) for row in rows]
        return found

    def lease_of(self, item: int) -> int | None:
        """The newest lease of an item."""
        found = self.connection.execute(sa.select(items.c.lease).where(items.c.id == item)).scalar()
        return None if found is None else int(found)

    def first_open(self, task: int, stage: str, after: int) -> tuple[int, int] | None:
        """(position, id) of the first unsettled item of the stage at or after position ``after``."""
        unsettled = sa.or_(OPEN, is_reset())
        probe = sa.select(items.c.seq, items.c.id).where(
            items.c.task == task, items.c.stage == stage, items.c.seq >= after, unsettled, counts_at(task, stage)
        )
        row = self.connection.execute(probe.order_by(items.c.seq).limit(1)).first()
        return None if row is None else (row.seq, row.id)

    def neighbours(self, task: int, stage: str, seq: int) -> tuple[str | None, str | None]:
        """The keys of the items before and after a position of a stage."""
        mine = sa.select(items.c.key, items.c.seq).where(
            items.c.task == task, items.c.stage == stage, counts_at(task, stage)
        )
        before = self.connection.execute(mine.where(items.c.seq < seq).order_by(items.c.seq.desc()).limit(1)).first()
        after = self.connection.execute(mine.where(items.c.seq > seq).order_by(items.c.seq).limit(1)).first()
        return (before and (before.key or str(before.seq)), after and (after.key or str(after.seq)))


def _in_states(states: Sequence[str]) -> sa.ColumnElement[bool]:
    """The item is in one of these states, as readers see it."""
    plain = sa.and_(items.c.state.in_(states), ~is_reset())
    return sa.or_(plain, is_reset()) if ItemState.PENDING in states else plain


def _items(bodies: bool) -> sa.Select[Any]:
    wanted = [field.name for field in fields(ItemRow) if bodies or field.default is MISSING]
    columns = [items.c[name] if name in items.c else item_data.c[name] for name in wanted]
    columns += [*SENTENCES.values()]
    return sa.select(*columns, reset_kind().label("reset")).outerjoin(item_data, item_data.c.item == items.c.id)


SENTENCES = {
    "error_message": item_data.c.error_sentence,
    "hold": item_data.c.hold_sentence,
    "degraded": items.c.degraded_sentence,
}
"""Columns with the code and parameters of these texts."""


def _row(row: sa.Row[Any]) -> ItemRow:
    found = dict(row._mapping)
    reset = found.pop("reset")
    for text, beside in SENTENCES.items():
        found[text] = restored(found[text], found.pop(beside.name))
    if reset is not None:
        values = STARTED_OVER | (FORGOTTEN if reset == REDO else without_results(reset))
        found |= {name: value for name, value in values.items() if name in found}
    return ItemRow(**found | {"key": row.key or str(row.seq), "progress": float(found["progress"] or 0.0)})
