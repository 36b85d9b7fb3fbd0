"""Copies the items of one stage into the next: their results become inputs.

The statements are built once. Each chunk runs while SQLite's write lock is held, and building the statements took Python
longer than SQLite takes to run them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.lifecycle import ItemState
from fanfold.store.dialects.bulk import put_rows, remove_all, remove_rows
from fanfold.store.dialects.dialect import Dialect
from fanfold.store.dialects.known import of
from fanfold.store.items.pending import NEW_COLUMNS, new_item
from fanfold.store.items.reset import started_over
from fanfold.store.schema.statements import changed_by, run
from fanfold.store.schema.tables import attempts, emissions, externals, in_states, item_data, items, permits, subtasks

COPY_CHUNK = 1_000
"""Most positions copied to the next stage in one transaction; a redone item is several rows."""
Generations = list[dict[str, Any]]


class CopyRange(NamedTuple):
    """The positions and stages to copy."""

    of: int
    source: str
    target: str
    first_seq: int
    last_seq: int


class Copying:
    """One copy, inside one transaction."""

    def __init__(self, connection: sa.Connection, place: CopyRange) -> None:
        self.connection = connection
        self.dialect = of(connection)
        self.values = place._asdict()

    def copy(self) -> bool:
        """Copy the items; see ``Items.copy``."""
        if not self._remove_orphans():
            return False
        generations = self._begin_again([item for (item,) in run(self.connection, REDONE, self.values)])
        changed_by(self.connection, NEW, self.values)
        changed_by(self.connection, NEW_DATA, self.values)
        put_rows(self.connection, item_data, generations)
        return True

    def _remove_orphans(self) -> bool:
        """Remove items of a stage whose source has no result any more; False when another call is needed.

        An item may have any number of attempts, emitted pieces and external jobs, so a bounded number of these go first.

        The previous item inherits their generation, so that an item created later in their place gets a new idempotency key.
        """
        rows = run(self.connection, ORPHANS, self.values)
        if not rows:
            return True
        ids, left = [item for item, *_ in rows], COPY_CHUNK
        for table in (emissions, attempts, externals, subtasks):
            left -= remove_rows(self.connection, table, ids, left)
            if left <= 0:
                return False
        used = [
            {"item": source, "generation": generation}
            for _, source, generation, known in rows
            if source is not None and (generation or 0) > (known or 0)
        ]
        put_rows(self.connection, item_data, used)
        for column in (item_data.c.item, permits.c.item, items.c.id):
            remove_all(self.connection, column, ids)
        return True

    def _begin_again(self, ids: Sequence[int]) -> Generations:
        """Any state → pending with all data cleared, including items that still run on outdated input.

        Returns the generation of each item that had started: with a new input it is different work and needs a new key.
        """
        if not ids:
            return []
        found = run(self.connection, _generations(self.dialect), {"ids": ids})
        changed_by(self.connection, started_over(self.dialect), {"ids": ids})
        for column in (item_data.c.item, permits.c.item):
            remove_all(self.connection, column, ids)
        return [{"item": item, "generation": generation} for item, generation in found]


_BEFORE = items.alias("before")
_FIRST, _LAST = sa.bindparam("first_seq", type_=sa.Integer), sa.bindparam("last_seq", type_=sa.Integer)
_OF = sa.bindparam("of", type_=sa.BigInteger)
_SOURCE, _TARGET = sa.bindparam("source", type_=sa.Text), sa.bindparam("target", type_=sa.Text)
_IS_DONE = _BEFORE.c.state == sa.literal_column(f"'{ItemState.DONE}'")
_AT_SOURCE = sa.and_(_BEFORE.c.task == _OF, _BEFORE.c.stage == _SOURCE, _BEFORE.c.seq.between(_FIRST, _LAST))
_DONE = sa.and_(_AT_SOURCE, _IS_DONE)
# The range restricts both sides: without statistics on a new stage, PostgreSQL may compare every item with every other.
_THERE = sa.and_(items.c.task == _OF, items.c.stage == _TARGET, items.c.seq.between(_FIRST, _LAST))
_SAME = sa.and_(_THERE, items.c.seq == _BEFORE.c.seq)
_OURS, _THEIRS = item_data.alias("ours"), item_data.alias("theirs")
REDONE = (
    sa.select(items.c.id)
    .select_from(items)
    .join(_BEFORE, sa.and_(_DONE, _SAME))
    .outerjoin(_OURS, _OURS.c.item == items.c.id)
    .outerjoin(_THEIRS, _THEIRS.c.item == _BEFORE.c.id)
    .where(_OURS.c.input.is_distinct_from(_THEIRS.c.output))
)
"""Items of the target whose input differs from the source's current result."""
ORPHANS = (
    sa.select(items.c.id, _BEFORE.c.id, _OURS.c.generation, _THEIRS.c.generation)
    .select_from(items)
    .outerjoin(_BEFORE, sa.and_(_AT_SOURCE, _BEFORE.c.seq == items.c.seq))
    .outerjoin(_OURS, _OURS.c.item == items.c.id)
    .outerjoin(_THEIRS, _THEIRS.c.item == _BEFORE.c.id)
    .where(_THERE, sa.or_(_BEFORE.c.id.is_(None), ~_IS_DONE))
)
"""Items of the target without a source."""
NEW = sa.insert(items).from_select(
    NEW_COLUMNS,
    sa.select(*new_item(_OF, _TARGET, _BEFORE.c.seq, _BEFORE.c.key))
    .where(_DONE, ~sa.exists(sa.select(items.c.id).where(_SAME).correlate(_BEFORE)))
    .order_by(_BEFORE.c.seq),
)
_KNOWN = item_data.alias("known")
NEW_DATA = sa.insert(item_data).from_select(
    ["item", "input", "generation"],
    sa.select(items.c.id, item_data.c.output, item_data.c.generation)
    .select_from(items)
    .join(_BEFORE, sa.and_(_DONE, _SAME))
    .join(item_data, item_data.c.item == _BEFORE.c.id)
    .where(~sa.exists(sa.select(_KNOWN.c.item).where(_KNOWN.c.item == items.c.id).correlate(items))),
)
"""A new item inherits the generation of the previous one, because an item at this position may have been removed."""


@cache
def _generations(dialect: Dialect) -> sa.Select[Any]:
    # A retry has already counted the items it put back. Keep that generation, or their key would be reused.
    tried = sa.or_(~in_states((ItemState.PENDING,)), items.c.attempts > 0)
    grown = sa.func.coalesce(item_data.c.generation, 0) + sa.case((tried, 1), else_=0)
    begun = sa.select(items.c.id, grown.label("generation")).outerjoin(item_data, item_data.c.item == items.c.id)
    return begun.where(dialect.among(items.c.id), items.c.lease > 0)
