"""Puts items back to `pending`: a person wants them redone, or their stage begins again."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from fanfold.model.lifecycle import ItemState
from fanfold.store.batches import put_rows
from fanfold.store.clock import Clock
from fanfold.store.tables import HELD, TIMED, item_data, items, permits

CHUNK = 2_000
FRESH: dict[str, Any] = {
    "state": ItemState.PENDING.value,
    "available_at": None,
    "finished_at": None,
    "attempts": 0,
    "failures": 0,
    "crashes": 0,
    "degraded": None,
}
"""What an item starts over with. Its lease is kept: it only grows."""
CRASHES = ("crash_progress", "crash_memory", "forgiven_crashes")
FORGOTTEN = dict.fromkeys(
    ("memory", "waiting_since", "progress", "message", "hold", "handed_back", "troubled_since", "troubled_by", *CRASHES)
)
"""What it no longer knows of its earlier attempts."""
BEGUN = items.c.lease > 0


class Resetting:
    """Verbs that put items back to `pending`, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock

    def retry(
        self,
        number: int,
        stage: str,
        ids: Sequence[int] | None,
        options: str | None = None,
        followers: Sequence[str] = (),
    ) -> int:
        """done, failed, retrying or waiting → pending: the named items, or (None) those that failed or are held.

        ``options`` (JSON) are laid over the task's own, and over what was said before, for these items from now on. Items that
        were done get the option ``fresh``: who has a good answer and asks again wants another one. What the stages named as
        ``followers`` made from these items is out of date from now on.
        """
        done = set() if ids is None else self._in_state(ids, ItemState.DONE)
        # Those that wait for a worker need no move, only to be told what is wanted of them now.
        waiting = set() if ids is None or options is None else self._in_state(ids, ItemState.PENDING)
        chosen = sa.update(items).where(items.c.task == number, items.c.stage == stage).values(FRESH)
        chosen = chosen.returning(items.c.id)
        moved: list[int] = []
        if ids is None:
            failed = sa.or_(items.c.state == ItemState.FAILED, HELD)
            moved += self.connection.execute(chosen.where(failed)).scalars()
        else:
            settled = items.c.state.in_((ItemState.DONE, ItemState.FAILED)) | TIMED
            for some in self._chunks(ids):
                moved += self.connection.execute(chosen.where(items.c.id.in_(some), settled)).scalars()
        self._set_aside(sorted(done))
        for start in range(0, len(moved), CHUNK):
            some = moved[start : start + CHUNK]
            forget = sa.update(item_data).where(item_data.c.item.in_(some))
            self.connection.execute(forget.values(FORGOTTEN))
            if options is not None or done:
                self._lay_over(some, options, done)
            self._outdate(number, followers, some)
        for some in self._chunks(sorted(waiting)):
            self._lay_over(some, options, set())
        return len(moved) + len(waiting)

    def _outdate(self, number: int, followers: Sequence[str], ids: Sequence[int]) -> None:
        """Any state → pending, with nothing known, for what later stages made of items that are done again.

        It waits there until its input is made, or is removed when that fails: a result of something redone is none.
        """
        if not followers:
            return
        redone = items.alias("redone")
        made = sa.select(items.c.id).join(redone, sa.and_(redone.c.task == number, redone.c.seq == items.c.seq))
        made = made.where(items.c.task == number, items.c.stage.in_(followers), redone.c.id.in_(ids))
        found = list(self.connection.execute(made).scalars())
        for some in self._chunks(found):
            self.count_generation(items.c.id.in_(some))
            self._forget(some, kept=("item", "input", "generation", "options"))

    def reopen(self, number: int, stage: str, *, redo: bool = False) -> None:
        """Any state → pending for every item of a stage that begins again (the merge, after an item was redone).

        With ``redo`` what was begun before counts as other work now: what comes before the stage may have changed.
        """
        mine = (items.c.task == number, items.c.stage == stage)
        if redo:
            self.count_generation(sa.and_(*mine))
        self.connection.execute(sa.update(items).where(*mine).values(FRESH | {"worker": None, "deadline_at": None}))
        ids = sa.select(items.c.id).where(*mine)
        self.connection.execute(sa.update(item_data).where(item_data.c.item.in_(ids)).values(FORGOTTEN))
        self.connection.execute(sa.delete(permits).where(permits.c.item.in_(ids)))

    def start_over(self, number: int, stage: str) -> None:
        """Any state → pending for every item of the first stage, with nothing known but its input."""
        mine = sa.select(items.c.id).where(items.c.task == number, items.c.stage == stage)
        for ids in self._chunks(list(self.connection.execute(mine.order_by(items.c.id)).scalars())):
            self._forget(ids, kept=("item", "input"))

    def _forget(self, ids: Sequence[int], kept: Sequence[str]) -> None:
        fresh = FRESH | {"worker": None, "deadline_at": None}
        self.connection.execute(sa.update(items).where(items.c.id.in_(ids)).values(fresh))
        nothing = {column.name: None for column in item_data.c if column.name not in kept}
        self.connection.execute(sa.update(item_data).where(item_data.c.item.in_(ids)).values(nothing))
        self.connection.execute(sa.delete(permits).where(permits.c.item.in_(ids)))

    def _chunks(self, ids: Sequence[int]) -> Iterator[Sequence[int]]:
        return (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))

    def count_generation(self, chosen: sa.ColumnElement[bool]) -> None:
        """What was begun of the chosen items belongs to an earlier generation: the next attempt has a new idempotency key."""
        insert = postgresql.insert if self.clock.dialect == "postgresql" else sqlite.insert
        begun = sa.select(items.c.id, sa.literal(1)).where(chosen, BEGUN).order_by(items.c.id)
        counted = insert(item_data).from_select(["item", "generation"], begun)
        grown = sa.func.coalesce(item_data.c.generation, 0) + 1
        self.connection.execute(counted.on_conflict_do_update(index_elements=["item"], set_={"generation": grown}))

    def _set_aside(self, ids: Sequence[int]) -> None:
        """Keep the outputs of done items that are made again, so that old and new can be compared."""
        for start in range(0, len(ids), CHUNK):
            chosen = item_data.c.item.in_(ids[start : start + CHUNK])
            kept = {"previous": item_data.c.output, "previous_model": item_data.c.model}
            self.connection.execute(sa.update(item_data).where(chosen).values(kept))

    def _in_state(self, ids: Sequence[int], state: ItemState) -> set[int]:
        found: set[int] = set()
        for some in self._chunks(ids):
            chosen = sa.select(items.c.id).where(items.c.id.in_(some), items.c.state == state)
            found |= set(self.connection.execute(chosen).scalars())
        return found

    def _lay_over(self, ids: Sequence[int], options: str | None, done: set[int]) -> None:
        """Add to the options of single items. Done items and those with other options than before are other work now."""
        chosen = sa.select(item_data.c.item, item_data.c.options).where(item_data.c.item.in_(ids))
        before = {row.item: json.loads(row.options or "{}") for row in self.connection.execute(chosen)}
        said = json.loads(options) if options else {}
        rows, other = [], []
        for item in ids:
            known = before.get(item, {})
            merged = known | ({"fresh": uuid.uuid4().hex} if item in done else {}) | said
            if merged != known:
                rows.append({"item": item, "options": json.dumps(merged, ensure_ascii=False)})
                other.append(item)
        put_rows(self.connection, item_data, rows)
        self.count_generation(items.c.id.in_(other))
