"""Resets items to `pending`, because a person wants them redone or their stage starts again."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.item import REDONE
from fanfold.model.lifecycle import TIMED_ITEMS, ItemState
from fanfold.store.dialects.bulk import put_rows, remove_all, remove_rows
from fanfold.store.dialects.dialect import Dialect
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.large.drafts import counts_at
from fanfold.store.items.large.reset_queue import OUTDATE, OVER, REDO, Note, Resets
from fanfold.store.items.locks import lock_items
from fanfold.store.items.pending import FORGOTTEN, STARTED_OVER, without_results
from fanfold.store.schema.statements import changed_by, run
from fanfold.store.schema.tables import HELD, UNACCEPTED, emissions, held_of, in_states, item_data, items, permits

AT_ONCE = 400
"""Most items reset in one transaction: up to five rows each, about 20 ms on SQLite."""
SET_ASIDE = {"previous": item_data.c.output, "previous_model": item_data.c.model}
"""Keeps the output of a done item when it is redone, so that old and new can be compared."""
BEGUN = items.c.lease > 0
HAS_FAILED = items.c.state == ItemState.FAILED
FAILED = sa.or_(HAS_FAILED, HELD)
"""Items that a retry without names resets: failed, or waiting for a person."""
WAITING_STATES = (ItemState.PENDING, *TIMED_ITEMS)
WHICH: dict[str, sa.ColumnElement[bool]] = {"failed": FAILED, "degraded": UNACCEPTED, "all": sa.true()}


class Chosen(NamedTuple):
    """An item that may be reset."""

    id: int
    lease: int
    state: str
    seq: int


class Resetting:
    """Verbs that reset items to `pending`, inside one transaction; at most AT_ONCE items."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def choose(self, task: int, stage: str, which: str, *, after: int = 0, limit: int | None = None) -> list[Chosen]:
        """Items of a stage after ``after``, in order: `failed` ones, `degraded` ones that nobody has accepted, or `all`.

        They come in the order of the index, so that no call reads the whole stage. The next call continues at ``place_of``
        the last item.
        """
        limit = AT_ONCE + 1 if limit is None else limit
        mine = sa.and_(items.c.task == task, items.c.stage == stage)
        if which != "failed" or not self.clock.dialect.indexes_end_with_id:
            return self._chosen(task, stage, sa.and_(mine, WHICH[which]), self._place(which), after, limit)
        # Two queries, each with its own index.
        failed = self._chosen(task, stage, sa.and_(mine, HAS_FAILED), items.c.id, after, limit)
        held = self._chosen(task, stage, held_of(self.clock.dialect, task, stage), items.c.id + 0, after, limit)
        return sorted(failed + held)[:limit]

    def _chosen(
        self,
        task: int,
        stage: str,
        which: sa.ColumnElement[bool],
        place: sa.ColumnElement[Any],
        after: int,
        limit: int,
    ) -> list[Chosen]:
        mine = sa.select(*CHOSEN).where(which, counts_at(task, stage))
        found = self.connection.execute(mine.where(place > after).order_by(place).limit(limit))
        return [Chosen(*row) for row in found.all()]

    def place_of(self, which: str, one: Chosen) -> int:
        """The item's place in the order in which items were chosen."""
        return one.seq if self._place(which) is items.c.seq else one.id

    def _place(self, which: str) -> sa.Column[Any]:
        return items.c.id if which != "all" and self.clock.dialect.indexes_end_with_id else items.c.seq

    def named(self, ids: Sequence[int]) -> list[Chosen]:
        """The items with these ids."""
        return [Chosen(*row) for row in run(self.connection, _named(self.clock.dialect), {"ids": list(ids)})]

    def made_from(self, task: int, ids: Collection[int], followers: Sequence[str]) -> list[int]:
        """Ids of the items of later stages that were made one-to-one from these."""
        if not followers:
            return []
        positions = [one.seq for one in self.named(list(ids))]
        made = _at_positions(self.clock.dialect)
        found = [
            run(self.connection, made, {"of": task, "at_stage": stage, "positions": positions}) for stage in followers
        ]
        return sorted(item for rows in found for (item,) in rows)

    def retry(self, number: int, ids: Sequence[int], options: str | None = None, followers: Sequence[str] = ()) -> int:
        """done, failed, retrying or waiting → pending, for the items with these ids; returns how many.

        ``options`` (JSON) override the task's options, and earlier overrides, for these items. Items that were done are
        marked, because a person who redoes a good answer wants a different one. Items that the stages in ``followers``
        made from these are outdated from now on.
        """
        lock_items(self.connection, ids)
        told = self._in_state(ids, ItemState.PENDING) if options is not None else set()
        moved = self._redo(ids, options)
        # Pending items need no move, only the new options.
        self._lay_over(sorted(told), options, set())
        self._outdate(self.made_from(number, moved, followers))
        return len(moved) + len(told)

    def carry_out(self, task: int, token: str, options: str | None) -> bool:
        """Reset the next items of a decided reset; True when none is left. The caller holds the task's lock."""
        resets = Resets(self.connection, self.clock)
        notes = resets.notes(task, token, AT_ONCE)
        ids = {kind: [note.item for note in notes if note.kind == kind] for kind in (REDO, OUTDATE, OVER)}
        lock_items(self.connection, [note.item for note in notes])
        if not self._drop_emitted(ids[OVER]):
            return False
        self._outdate(ids[OUTDATE])
        self.start_over(ids[OVER])
        unchanged = self._unclaimed([note for note in notes if note.kind == REDO])
        moved = set(self._redo(unchanged, options))
        # Items claimed since they were noted continue under their own key; waiting ones get the new options.
        if options is not None:
            others = self.named([item for item in ids[REDO] if item not in moved])
            self._lay_over([one.id for one in others if one.state in WAITING_STATES], options, set())
        resets.drop(notes)
        return len(notes) < AT_ONCE

    def _unclaimed(self, notes: Sequence[Note]) -> list[int]:
        leases = {one.id: one.lease for one in self.named([note.item for note in notes])}
        return [note.item for note in notes if leases.get(note.item) == note.lease]

    def _redo(self, ids: Sequence[int], options: str | None) -> list[int]:
        """done, failed, retrying or waiting → pending; returns the items that were in one of these states."""
        done = self._in_state(ids, ItemState.DONE)
        moved = sorted(item for (item,) in run(self.connection, _redone(self.clock.dialect), {"ids": list(ids)}))
        for some, was_done in ((done, True), (set(moved) - done, False)):
            if some:
                changed_by(self.connection, _data_redone(self.clock.dialect, was_done), {"ids": sorted(some)})
        if options is not None or done:
            self._lay_over(moved, options, done)
        return moved

    def _outdate(self, ids: Sequence[int]) -> None:
        """Any state → pending with all data cleared, for items that later stages made from redone items.

        They wait until their input exists, or are removed if it fails: a result made from an outdated input is worthless.
        """
        if ids:
            changed_by(self.connection, _generation_of_some(self.clock.dialect), {"ids": list(ids)})
            self._forget(ids, OUTDATE)

    def reopen(self, number: int, stage: str, *, redo: bool = False) -> None:
        """Any state → pending for the one item of a stage that starts again (the merge, after an item was redone).

        With ``redo`` it gets a new generation and so a new key, because its inputs may have changed.
        """
        mine = (items.c.task == number, items.c.stage == stage)
        if redo:
            self.count_generation(sa.and_(*mine))
        self.connection.execute(sa.update(items).where(*mine).values(STARTED_OVER))
        ids = sa.select(items.c.id).where(*mine)
        self.connection.execute(sa.update(item_data).where(item_data.c.item.in_(ids)).values(FORGOTTEN))
        self.connection.execute(sa.delete(permits).where(permits.c.item.in_(ids)))

    def start_over(self, ids: Sequence[int]) -> None:
        """Any state → pending for items of the first stage, with only their input kept."""
        if ids:
            self._forget(ids, OVER)
            self._drop_emitted(ids)

    def _drop_emitted(self, ids: Sequence[int]) -> bool:
        """Remove a bounded number of pieces that items have emitted; True when none is left.

        The remaining pieces stay visible until the item is claimed again; the claim drops them.
        """
        return not ids or remove_rows(self.connection, emissions, ids, 2 * AT_ONCE) < 2 * AT_ONCE

    def _forget(self, ids: Sequence[int], kind: str) -> None:
        for statement in (started_over(self.clock.dialect), _data_forgotten(self.clock.dialect, kind)):
            changed_by(self.connection, statement, {"ids": list(ids)})
        remove_all(self.connection, permits.c.item, ids)

    def count_generation(self, chosen: sa.ColumnElement[bool]) -> None:
        """Start a new generation of the chosen items that ever ran, so that their next attempt has a new idempotency key."""
        self.connection.execute(_generation(self.clock.dialect, chosen))

    def _in_state(self, ids: Sequence[int], state: ItemState) -> set[int]:
        return {one.id for one in self.named(ids) if one.state == state}

    def _lay_over(self, ids: Sequence[int], options: str | None, done: set[int]) -> None:
        """Override options of particular items. Done items, and items whose options change, get a new generation."""
        if not ids:
            return
        said = json.loads(options) if options else {}
        rows = []
        for item, lease, text, generation in run(self.connection, _options(self.clock.dialect), {"ids": list(ids)}):
            before = json.loads(text or "{}")
            merged = before | ({REDONE: uuid.uuid4().hex} if item in done else {}) | said
            if merged != before:
                kept = json.dumps(merged, ensure_ascii=False)
                # An item that ever ran has used its key.
                rows.append(
                    {"item": item, "options": kept, "generation": (generation or 0) + 1 if lease else generation}
                )
        put_rows(self.connection, item_data, rows)


CHOSEN = tuple(items.c[name] for name in Chosen._fields)


@cache
def _named(dialect: Dialect) -> sa.Select[Any]:
    return sa.select(*CHOSEN).where(dialect.among(items.c.id))


@cache
def _at_positions(dialect: Dialect) -> sa.Select[Any]:
    of_stage = sa.and_(items.c.task == sa.bindparam("of"), items.c.stage == sa.bindparam("at_stage"))
    return sa.select(items.c.id).where(of_stage, dialect.among(items.c.seq, "positions"))


@cache
def _options(dialect: Dialect) -> sa.Select[Any]:
    known = sa.select(items.c.id, items.c.lease, item_data.c.options, item_data.c.generation)
    known = known.outerjoin(item_data, item_data.c.item == items.c.id)
    return known.where(dialect.among(items.c.id)).order_by(items.c.id)


@cache
def _redone(dialect: Dialect) -> sa.Executable:
    settled = in_states((ItemState.DONE, ItemState.FAILED, *TIMED_ITEMS))
    return sa.update(items).where(dialect.among(items.c.id), settled).values(STARTED_OVER).returning(items.c.id)


@cache
def _data_redone(dialect: Dialect, was_done: bool) -> sa.Executable:
    values = FORGOTTEN | SET_ASIDE if was_done else FORGOTTEN
    return sa.update(item_data).where(dialect.among(item_data.c.item)).values(values)


@cache
def started_over(dialect: Dialect) -> sa.Executable:
    """Any state → pending, for the items with these ids."""
    return sa.update(items).where(dialect.among(items.c.id)).values(STARTED_OVER)


@cache
def _data_forgotten(dialect: Dialect, kind: str) -> sa.Executable:
    return sa.update(item_data).where(dialect.among(item_data.c.item)).values(without_results(kind))


def _generation(dialect: Dialect, chosen: sa.ColumnElement[bool]) -> sa.Executable:
    begun = sa.select(items.c.id, sa.literal(1)).where(chosen, BEGUN).order_by(items.c.id)
    counted = dialect.insert(item_data).from_select(["item", "generation"], begun)
    grown = sa.func.coalesce(item_data.c.generation, 0) + 1
    return counted.on_conflict_do_update(index_elements=["item"], set_={"generation": grown})


@cache
def _generation_of_some(dialect: Dialect) -> sa.Executable:
    return _generation(dialect, dialect.among(items.c.id))
