"""Creates the items of a stage, and tells whether the stage is over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any

import sqlalchemy as sa

from fanfold.errors import BadInput
from fanfold.model.item import position_of
from fanfold.model.lifecycle import ItemState
from fanfold.model.text.sentences import say
from fanfold.store.dialects.bulk import append_rows
from fanfold.store.dialects.dialect import Dialect
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.large.copy import Copying, CopyRange
from fanfold.store.items.large.drafts import counts_at
from fanfold.store.items.pending import NEW_COLUMNS, new_item
from fanfold.store.schema.statements import fetch, fetch_value, run
from fanfold.store.schema.tables import OPEN, item_data, items, tasks

BATCH = 2_000
MOST_POSITIONS = 2**31 - 1


class Items:
    """Verbs on items, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, task: int, stage: str, rows: Iterable[tuple[str | None, str | None]]) -> int:
        """Add pending items to a stage, in order, from (key, input) pairs; returns how many. Keys must differ."""
        count = 0
        source = iter(rows)
        while batch := list(islice(source, BATCH)):
            self.add_some(task, stage, count, batch)
            count += len(batch)
        self.analyze(count)
        return count

    def analyze(self, count: int) -> None:
        """Update the planner's statistics if ``count`` new items change them noticeably."""
        self.clock.dialect.analyze(self.connection, items, count, "item_data (item)")

    def has_position(self, task: int, stage: str, seq: int) -> bool:
        """Whether there is an item at a position of a stage, hidden or not."""
        return bool(run(self.connection, AT_POSITION, {"wanted": task, "at_stage": stage, "at_seq": seq}))

    def add_some(self, task: int, stage: str, before: int, rows: list[tuple[str | None, str | None]]) -> None:
        """Add pending items after the first ``before`` items of a stage, from (key, input) pairs."""
        try:
            ids = self._insert(task, stage, before + 1, [key for key, _ in rows])
        except Exception as error:
            if "items_key" in str(error) or "items.key" in str(error):
                raise BadInput(say("same_key"), code="duplicate_key") from error
            raise
        inputs = [(id_, text) for id_, (_, text) in zip(ids, rows, strict=True) if text is not None]
        append_rows(self.connection, item_data, ("item", "input"), inputs)

    def add_more(self, task: int, stage: str, rows: Sequence[tuple[str, str | None]]) -> set[str]:
        """Add pending items at the end of a stage, except keys that it already has; returns the keys that are new.

        The caller holds the task's lock, so that no two transactions choose the same position.
        """
        known = self._taken(task, stage, [key for key, _ in rows])
        new: list[tuple[str | None, str | None]] = [(key, text) for key, text in rows if key not in known]
        if new:
            self.add_some(task, stage, self.last_position(task, stage), new)
        return {key for key, _ in new if key is not None}

    def _taken(self, task: int, stage: str, keys: Sequence[str]) -> set[str]:
        """The given keys that an item of the stage has. An item without a key answers to its position."""
        mine = sa.and_(items.c.task == task, items.c.stage == stage)
        known = set(self.connection.execute(sa.select(items.c.key).where(mine, items.c.key.in_(keys))).scalars())
        positions = [position for key in keys if (position := position_of(key)) is not None]
        unkeyed = sa.select(items.c.seq).where(mine, items.c.key.is_(None), items.c.seq.in_(positions))
        if positions:
            known |= {str(position) for position in self.connection.execute(unkeyed).scalars()}
        return {key for key in known if key is not None}

    def _insert(self, task: int, stage: str, first: int, keys: list[str | None]) -> Sequence[int]:
        """Insert many items with one statement; returns their ids, ascending."""
        values: dict[str, Any] = {"of": task, "at_stage": stage, "first_seq": first, "keys": keys}
        return self.clock.dialect.add_listed(self.connection, items, NEW_COLUMNS, listed_item, values)

    def last_position(self, task: int, stage: str) -> int:
        """The last position of a stage, hidden or not; 0 when it has no items."""
        return int(fetch_value(self.connection, LAST_POSITION, {"wanted": task, "at_stage": stage}) or 0)

    def copy(self, task: int, source: str, target: str, *, after: int = 0, upto: int = MOST_POSITIONS) -> bool:
        """Create one pending item of ``target`` for each done item of ``source``, with its output as input.

        If the stage was entered before, only items whose source is new or was redone become pending again, and items whose
        source has no result any more are removed. Only for positions above ``after``, up to ``upto``. False when there are
        too many rows to remove in one call: call again; nothing is copied until then.
        """
        return Copying(self.connection, CopyRange(task, source, target, after + 1, upto)).copy()

    def is_open(self, task: int, stage: str) -> bool:
        """Whether any item keeps the stage from being over.

        Written to read only the first index entry. With NOT EXISTS, PostgreSQL reads all of them.
        """
        return bool(run(self.connection, OPEN_PROBE, {"wanted": task, "at_stage": stage}))

    def is_sample_open(self, task: int, stage: str, sample: int) -> bool:
        """Whether any of the first ``sample`` items of the stage is not over."""
        values = {"wanted": task, "at_stage": stage, "sample": sample}
        return bool(run(self.connection, SAMPLE_PROBE, values))

    def first_started_at(self, task: int, stage: str) -> datetime | None:
        """When the first item of a stage last started, if its row still has the time."""
        found: datetime | None = fetch_value(self.connection, FIRST_STARTED, {"wanted": task, "at_stage": stage})
        return found

    def first_started(self, numbers: Sequence[int], stage: str) -> dict[int, datetime | None]:
        """The same for many tasks that begin with a stage of this name, in one query."""
        values = {"ids": list(numbers), "at_stage": stage}
        return {task: at for task, at in fetch(self.connection, first_started_statement(self.clock.dialect), values)}  # noqa: C416

    def begun_since(self, task: int, at: datetime, item: int | None = None) -> int | None:
        """An item of the task that started after ``at``. Checks all items, which may be many, or only ``item`` if given.

        An item that was claimed ahead and not handed back may have begun.
        """
        claimed_ahead = sa.and_(items.c.started_at.is_(None), items.c.attempts > 0)
        later = sa.select(items.c.id).where(items.c.task == task, sa.or_(items.c.started_at > at, claimed_ahead))
        if item is not None:
            later = later.where(items.c.id == item)
        return self.connection.execute(later.limit(1)).scalar()

    def exist(self, task: int, stage: str) -> bool:
        """Whether the stage has any items."""
        return bool(run(self.connection, ANY_OF, {"wanted": task, "at_stage": stage}))

    def any_in(self, task: int, stage: str, states: Sequence[ItemState]) -> bool:
        """Whether any item of the stage is in one of the states. SQLite reads one index entry."""
        mine = sa.select(items.c.id).where(items.c.task == task, items.c.stage == stage, items.c.state.in_(states))
        return self.connection.execute(mine.where(counts_at(task, stage)).limit(1)).first() is not None

    def count_failed(self, task: int, stage: str) -> int:
        """How many items of the stage have failed. SQLite reads one index range."""
        mine = sa.select(sa.func.count()).where(items.c.task == task, items.c.stage == stage)
        failed = mine.where(items.c.state == ItemState.FAILED, counts_at(task, stage))
        return int(self.connection.execute(failed).scalar_one())

    def have_begun(self, task: int, stage: str, *, hidden: bool = False) -> bool:
        """Whether any item of the stage was ever claimed, which means that its gate (if any) was passed.

        May read all items of the stage. With ``hidden``, items of a draft count too.
        """
        return bool(
            run(self.connection, ANY_BEGUN_HIDDEN if hidden else ANY_BEGUN, {"wanted": task, "at_stage": stage})
        )


_WANTED, _AT_STAGE = sa.bindparam("wanted", type_=sa.BigInteger), sa.bindparam("at_stage", type_=sa.Text)
ANY_AT_ALL = sa.select(items.c.id).where(items.c.task == _WANTED, items.c.stage == _AT_STAGE).limit(1)
AT_POSITION = ANY_AT_ALL.where(items.c.seq == sa.bindparam("at_seq", type_=sa.Integer))
LAST_POSITION = ANY_AT_ALL.with_only_columns(items.c.seq).order_by(items.c.seq.desc())
FIRST_STARTED = (
    ANY_AT_ALL.with_only_columns(items.c.started_at).where(counts_at(_WANTED, _AT_STAGE)).order_by(items.c.seq)
)
ANY_OF = ANY_AT_ALL.where(counts_at(_WANTED, _AT_STAGE))
ANY_BEGUN = ANY_OF.where(items.c.lease > 0)
ANY_BEGUN_HIDDEN = ANY_AT_ALL.where(items.c.lease > 0)
OPEN_PROBE = (
    sa.select(items.c.state)
    .where(items.c.task == sa.bindparam("wanted"), items.c.stage == sa.bindparam("at_stage"), OPEN)
    .order_by(items.c.state)
    .limit(1)
)

SAMPLE_PROBE = (
    sa.select(items.c.state)
    .where(items.c.task == sa.bindparam("wanted"), items.c.stage == sa.bindparam("at_stage"), OPEN)
    .where(items.c.seq <= sa.bindparam("sample", type_=sa.Integer))
    .limit(1)
)


@lru_cache(maxsize=4)
def first_started_statement(dialect: Dialect) -> sa.Select[Any]:
    """When the first item of each of many tasks started, in a stage of the same name."""
    first = sa.select(items.c.started_at).where(items.c.task == tasks.c.number, items.c.stage == _AT_STAGE)
    first = first.order_by(items.c.seq).limit(1).correlate(tasks)
    mine = sa.select(tasks.c.number, first.scalar_subquery()).where(dialect.among(tasks.c.number))
    return mine.where(counts_at(tasks.c.number, _AT_STAGE))


def listed_item(place: sa.ColumnElement[int], key: sa.ColumnElement[str]) -> Sequence[sa.ColumnElement[Any]]:
    """The columns of a pending item, given its place among the new items."""
    task, stage = sa.bindparam("of", type_=sa.BigInteger), sa.bindparam("at_stage", type_=sa.Text)
    return new_item(task, stage, sa.bindparam("first_seq", type_=sa.Integer) + place, key)
