"""Ends attempts: the verbs by which an item leaves its worker. Each checks the lease in its WHERE clause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.endings import Ending
from fanfold.model.item import HELD_SECONDS
from fanfold.model.lifecycle import TIMED_ITEMS, ItemState
from fanfold.model.text.sentences import kept, restored
from fanfold.store.dialects.bulk import LEASE_COLUMNS, put_rows
from fanfold.store.dialects.dialect import Row
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.claim import task_is_active
from fanfold.store.items.crashes import counted, crash_values, note_crashes
from fanfold.store.items.large.drafts import counts_at
from fanfold.store.items.locks import lock_items
from fanfold.store.items.pending import HANDED_BACK
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import RUNNING, attempts, held_of, item_data, items, permits, tasks


class GivenUp(NamedTuple):
    """An item that a person gave up on, and why it was held."""

    id: int
    key: str
    hold: str | None


class Settling:
    """Verbs that end an attempt, inside one transaction. Rows are mappings with at least ``id`` and ``lease``.

    Each verb returns the ids it really moved. A lost lease updates no row: another worker owns the item now, and its result
    counts.
    """

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def settle(self, ending: Ending, rows: Sequence[Row]) -> set[int]:
        """Run the verb for this ending."""
        verb: Callable[[Sequence[Row]], set[int]] = getattr(self, ending)
        return verb(rows)

    def finish(self, rows: Sequence[Row]) -> set[int]:
        """running → done, for leases still held in tasks still active."""
        return self._move(Ending.FINISH, rows)

    def fail(self, rows: Sequence[Row]) -> set[int]:
        """running → failed: no retries left, or retrying is useless."""
        return self._move(Ending.FAIL, rows)

    def back_off(self, rows: Sequence[Row]) -> set[int]:
        """running → retrying, until ``delay`` seconds from now; ``counted`` is 1 if it uses up a retry."""
        return self._move(Ending.BACK_OFF, rows)

    def postpone(self, rows: Sequence[Row]) -> set[int]:
        """running → waiting, until ``delay`` seconds from now: an external job is running."""
        moved = self._move(Ending.POSTPONE, rows)
        if moved:
            chosen = sa.select(items.c.id, self.clock.now).where(items.c.id.in_(list(moved)))
            began = self.clock.dialect.insert(item_data).from_select(["item", "waiting_since"], chosen)
            since = sa.func.coalesce(item_data.c.waiting_since, began.excluded.waiting_since)
            kept = {"waiting_since": since, "handed_back": None}
            self.connection.execute(began.on_conflict_do_update(index_elements=["item"], set_=kept))
        return moved

    def hold(self, rows: Sequence[Row]) -> set[int]:
        """running → waiting, until a person acts. This time does not count as waiting for an external job."""
        return self._move(Ending.POSTPONE, [{**row, "delay": HELD_SECONDS} for row in rows])

    def count_held(self, task: int, stage: str, most: int) -> int:
        """How many items of a stage wait for a person, counted up to ``most``."""
        mine = held_of(self.clock.dialect, task, stage)
        some = sa.select(items.c.id).where(mine, counts_at(task, stage)).limit(most).subquery()
        return self.connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one()

    def give_up_held(self, task: int, stage: str, person: str, limit: int) -> list[GivenUp]:
        """waiting → running → failed, for at most ``limit`` items that wait for a person, who gave up on them.

        They are claimed first: the new lease invalidates late results of earlier attempts.
        """
        held = sa.select(items.c.id, items.c.seq, items.c.key, item_data.c.hold, item_data.c.hold_sentence).outerjoin(
            item_data, item_data.c.item == items.c.id
        )
        held = held.where(held_of(self.clock.dialect, task, stage)).order_by(items.c.id + 0).limit(limit)
        rows = self.connection.execute(held.with_for_update(key_share=True, of=items)).all()
        mine = sa.update(items).where(items.c.id.in_([row.id for row in rows]))
        taken = {"state": ItemState.RUNNING.value, "worker": person, "lease": items.c.lease + 1, "available_at": None}
        self.connection.execute(mine.values(taken))
        failed = {"state": ItemState.FAILED.value, "worker": None, "finished_at": self.clock.now}
        self.connection.execute(mine.values(failed))
        return [GivenUp(row.id, row.key or str(row.seq), restored(row.hold, row.hold_sentence)) for row in rows]

    def release(self, rows: Sequence[Row]) -> set[int]:
        """running → pending without a failure counted; allowed in any state of the task."""
        return self._move(Ending.RELEASE, rows)

    def note_begun(self, rows: Sequence[Row]) -> None:
        """Record that items claimed ahead began ``began`` seconds ago, so that a crash counts from now on."""
        if rows:
            sent = self.clock.dialect.short_values((*LEASE_COLUMNS, *BEGAN_COLUMNS), rows)
            run(self.connection, begun_statement(self.clock), sent)

    def reclaim(self, rows: Sequence[Row]) -> set[int]:
        """running → pending, or → failed at the ``limit``: the process that ran it died."""
        moved = self._move(Ending.RECLAIM, rows)
        note_crashes(self.connection, sorted(moved))
        return moved

    def unlocked(self, rows: Sequence[Row]) -> Sequence[Row]:
        """The rows that no other transaction has locked; they stay locked by this one."""
        if not self.clock.dialect.locks_rows or not rows:
            return rows
        mine = sa.select(items.c.id).where(items.c.id.in_([row["id"] for row in rows]))
        free = set(self.connection.execute(mine.with_for_update(skip_locked=True, key_share=True)).scalars())
        return [row for row in rows if row["id"] in free]

    def poisoned(self, ids: Sequence[int]) -> dict[int, int]:
        """The given items that have failed, each with its number of crashes."""
        chosen = sa.select(items.c.id, items.c.crashes).where(items.c.id.in_(ids), items.c.state == ItemState.FAILED)
        return {row.id: row.crashes for row in self.connection.execute(chosen)}

    def _move(self, ending: Ending, rows: Sequence[Row]) -> set[int]:
        if not rows:
            return set()
        if "began" not in rows[0]:
            rows = [{**row, "began": None} for row in rows]
        sent = self.clock.dialect.short_values((*LEASE_COLUMNS, *BEGAN_COLUMNS, *MOVE_COLUMNS[ending]), rows)
        return {id_ for (id_,) in run(self.connection, move_statement(self.clock, ending), sent)}

    def lock(self, ids: Sequence[int]) -> None:
        """Lock these items in id order, before statements that would lock them in another order."""
        lock_items(self.connection, ids)

    def put_data(self, rows: Sequence[Row]) -> None:
        """Store item data: outputs, errors, usage. Rows have the same columns, including ``item``."""
        if rows and not SENTENCES.keys().isdisjoint(rows[0]):
            rows = [{**row, **{SENTENCES[name]: kept(row[name]) for name in SENTENCES if name in row}} for row in rows]
        put_rows(self.connection, item_data, rows)

    def mark_degraded(self, rows: Sequence[Row]) -> None:
        """Record why items finished in this transaction are degraded: rows of ``id`` and ``reason``."""
        if rows:
            noted = [{**row, "sentence": kept(row["reason"])} for row in rows]
            run(self.connection, degraded_statement(self.clock), {"rows": noted})

    def note_trouble(self, rows: Sequence[Row]) -> None:
        """Record that items wait through no fault of their own: for which service (``by``), and since when unless known."""
        if rows:
            run(self.connection, trouble_statement(self.clock), {"rows": list(rows)})

    def add_attempts(self, rows: Sequence[Row]) -> None:
        """Store attempts that failed, were lost, or cost money."""
        if not rows:
            return
        sent = [{name: row.get(name) for name in ATTEMPT_COLUMNS} for row in rows]
        for row in sent:
            row["error_sentence"] = kept(row["error_message"])
        run(self.connection, attempts_statement(self.clock), {"rows": sent})

    def free_permits(self, ids: Sequence[int]) -> None:
        """Give back the permits of items that no longer run."""
        if ids:
            self.connection.execute(sa.delete(permits).where(permits.c.item.in_(ids)))

    def note_progress(self, item: int, lease: int, share: float, message: str | None) -> bool:
        """Record the progress of a running item; it never decreases, even in a later attempt. False if the lease was lost."""
        so_far = self.connection.execute(sa.select(item_data.c.progress).where(item_data.c.item == item)).scalar()
        grown = {"handed_back": None} if share > (so_far or 0.0) else {}
        return self._while_held(item, lease, {"progress": max(share, so_far or 0.0), "message": message, **grown})

    def note_decided(self, item: int, lease: int, number: int) -> bool:
        """Record the last decision that a merge starts with; False if the lease was lost."""
        return self._while_held(item, lease, {"decided": number})

    def count_hand_back(self, item: int, lease: int) -> int | None:
        """How often in a row the end of a tick has cut the item off without progress, this time included.

        None if the lease was lost, or if the task is not active and nobody waits for it.
        """
        wanted = task_is_active(items.c.task, items.c.stage)
        held = sa.select(items.c.id).where(items.c.id == item, items.c.lease == lease, RUNNING, wanted)
        if self.connection.execute(held.with_for_update(of=items)).first() is None:
            return None
        known = sa.select(item_data.c.handed_back).where(item_data.c.item == item)
        count = (self.connection.execute(known).scalar() or 0) + 1
        put_rows(self.connection, item_data, [{"item": item, "handed_back": count}])
        return count

    def remember(self, item: int, lease: int, memory: str, generation: int = 0) -> bool:
        """Store an item's memory unless it was claimed again, in any state of the item and its task.

        False if it was claimed again, or if a person wants it redone, which makes it different work.
        """
        last = sa.select(items.c.id).where(items.c.id == item, items.c.lease == lease).with_for_update()
        if self.connection.execute(last).first() is None or self.generation(item) != generation:
            return False
        row: dict[str, Any] = {"item": item, "memory": memory}
        if memory != self.memory(item):
            row["handed_back"] = None  # It made progress.
        put_rows(self.connection, item_data, [row])
        return True

    def memory(self, item: int) -> str | None:
        """The stored memory of an item."""
        return self.connection.execute(sa.select(item_data.c.memory).where(item_data.c.item == item)).scalar()

    def previous(self, item: int) -> str | None:
        """The output that an item had before a person had it redone."""
        return self.connection.execute(sa.select(item_data.c.previous).where(item_data.c.item == item)).scalar()

    def generation(self, item: int) -> int:
        """How often a person had the item redone."""
        found = sa.select(item_data.c.generation).where(item_data.c.item == item)
        return self.connection.execute(found).scalar() or 0

    def holds(self, item: int, lease: int) -> bool:
        """Whether the lease is still held and the task still exists.

        On PostgreSQL, until the transaction ends, the task cannot be deleted and the item's row stays locked.
        """
        return bool(
            run(self.connection, TASK_OF_ITEM, {"wanted": item})
            and run(self.connection, HELD_ITEM, {"wanted": item, "shown": lease})
        )

    def drop_deadline(self, item: int) -> None:
        """Remove the time limit of an item whose lease is held: its handler has ended and its result is being written."""
        self.connection.execute(sa.update(items).where(items.c.id == item).values(deadline_at=None))

    def put_off_deadline(self, item: int, lease: int, seconds: float) -> None:
        """Give a running item more time before the sweep treats it as hung; no effect without the lease."""
        later = self.clock.after(seconds - self.clock.seconds_since(items.c.deadline_at))
        mine = (items.c.id == item, items.c.lease == lease, RUNNING, items.c.deadline_at.is_not(None))
        self.connection.execute(sa.update(items).where(*mine).values(deadline_at=later))

    def put_off_deadlines(
        self, worker: str, seconds: float, *, but: int | None = None, only: Sequence[int] | None = None
    ) -> None:
        """The same for all items of a worker except ``but``, or ``only`` for some: each gets at least ``seconds`` from now."""
        later, deadline = self.clock.after(seconds), items.c.deadline_at
        chosen = items.c.id != (but or 0) if only is None else items.c.id.in_(only)
        mine = (RUNNING, items.c.worker == worker, deadline < later, chosen)
        self.connection.execute(sa.update(items).where(*mine).values(deadline_at=later))

    def _while_held(self, item: int, lease: int, values: dict[str, Any]) -> bool:
        if not self.holds(item, lease):
            return False
        put_rows(self.connection, item_data, [{"item": item, **values}])
        return True


TASK_OF_ITEM = (
    sa.select(tasks.c.number)
    .where(tasks.c.number == sa.select(items.c.task).where(items.c.id == sa.bindparam("wanted")).scalar_subquery())
    .with_for_update(read=True, key_share=True)
)
"""A delete waits for this short lock, so that nothing is written for a deleted task."""
HELD_ITEM = (
    sa.select(items.c.id)
    .where(items.c.id == sa.bindparam("wanted"), items.c.lease == sa.bindparam("shown"), RUNNING)
    .with_for_update()
)
ATTEMPT_COLUMNS: dict[str, sa.types.TypeEngine[Any]] = {"item": sa.BigInteger(), "lease": sa.Integer()} | {
    name: sa.Text()
    for name in ("worker", "outcome", "error_code", "error_message", "error_detail", "model", "usage", "error_sentence")
}
SENTENCES = {"error_message": "error_sentence", "hold": "hold_sentence"}
"""Columns of item data with sentences → columns with their codes and parameters."""
MOVE_COLUMNS: dict[Ending, dict[str, sa.types.TypeEngine[Any]]] = {
    Ending.FINISH: {},
    Ending.FAIL: {},
    Ending.BACK_OFF: {"delay": sa.Float(), "counted": sa.Integer()},
    Ending.POSTPONE: {"delay": sa.Float()},
    Ending.RELEASE: {},
    Ending.RECLAIM: {"limit": sa.Integer()},
}
BEGAN_COLUMNS: dict[str, sa.types.TypeEngine[Any]] = {"began": sa.Float()}
"""Seconds since the handler of an item claimed ahead began; NULL if it never did. Of other items the claim is the start."""


@lru_cache(maxsize=16)
def begun_statement(clock: SqlClock) -> sa.Update:
    """Record the start of many items that were claimed ahead and run now."""
    batch = clock.dialect.unnested({**LEASE_COLUMNS, **BEGAN_COLUMNS})
    running = clock.dialect.only_equal(items.c.state, ItemState.RUNNING.value)
    held = (items.c.id == batch.c.id, items.c.lease == batch.c.lease, running, items.c.started_at.is_(None))
    return sa.update(items).where(*held).values(started_at=clock.before(batch.c.began))


@lru_cache(maxsize=64)
def attempts_statement(clock: SqlClock) -> sa.Insert:
    """Insert many attempts in one statement."""
    batch = clock.dialect.unfolded(ATTEMPT_COLUMNS)
    chosen = sa.select(*batch.c, items.c.task, items.c.started_at, clock.now).join(items, items.c.id == batch.c.item)
    return sa.insert(attempts).from_select([*ATTEMPT_COLUMNS, "task", "started_at", "ended_at"], chosen)


@lru_cache(maxsize=16)
def trouble_statement(clock: SqlClock) -> sa.Update:
    """Record since when and for which service many items wait, in one statement."""
    batch = clock.dialect.unfolded({"item": sa.BigInteger(), "by": sa.Text()})
    since = sa.func.coalesce(item_data.c.troubled_since, clock.now)
    noted = sa.update(item_data).where(item_data.c.item == batch.c.item)
    return noted.values(troubled_since=since, troubled_by=batch.c.by)


@lru_cache(maxsize=16)
def degraded_statement(clock: SqlClock) -> sa.Update:
    """Record the reasons of many degraded items in one statement."""
    batch = clock.dialect.unfolded({"id": sa.BigInteger(), "reason": sa.Text(), "sentence": sa.Text()})
    marked = {"degraded": batch.c.reason, "degraded_sentence": batch.c.sentence}
    return sa.update(items).where(items.c.id == batch.c.id).values(marked)


@lru_cache(maxsize=64)
def move_statement(clock: SqlClock, ending: Ending) -> sa.Update:
    """The UPDATE statement for one kind of ending.

    PostgreSQL must find the items by id. Left alone, it prefers their common columns and reads all running items of their
    tasks once per item.
    """
    dialect = clock.dialect
    batch = dialect.unnested({**LEASE_COLUMNS, **BEGAN_COLUMNS, **MOVE_COLUMNS[ending]})
    running = dialect.only_equal(items.c.state, ItemState.RUNNING.value)
    held = [items.c.id == batch.c.id, items.c.lease == batch.c.lease, running]
    if ending.needs_task:
        held.append(dialect.only_checked(task_is_active(items.c.task, items.c.stage)))
    started = {"started_at": sa.func.coalesce(items.c.started_at, clock.before(batch.c.began))}
    values: dict[str, Any] = {"worker": None, "deadline_at": None, **started, **_values(clock, ending, batch)}
    return sa.update(items).where(*held).values(values).returning(items.c.id)


def _values(clock: SqlClock, ending: Ending, batch: sa.FromClause) -> dict[str, Any]:
    if ending.state is None:
        return crash_values(clock, batch.c.limit, began=True)
    if ending is Ending.RELEASE:
        never_begun = sa.and_(items.c.started_at.is_(None), batch.c.began.is_(None), items.c.attempts > 0)
        untried = sa.case((never_begun, items.c.attempts - 1), else_=items.c.attempts)
        return HANDED_BACK | {"attempts": untried}
    values: dict[str, Any] = {"state": ending.state.value}
    if ending is Ending.FINISH:
        # Clear the mark of an earlier result; the few degraded items are marked right after.
        # The worker is stored here because an item without an output has no row of data.
        values |= {"settled_by": items.c.worker, "finished_at": clock.now, "degraded": None}
    if ending is Ending.FAIL:
        values |= {"finished_at": clock.now, "failures": counted(items.c.failures, 1)}
    if ending.state in TIMED_ITEMS:
        values["available_at"] = clock.after(batch.c.delay)
    if ending is Ending.BACK_OFF:
        values["failures"] = counted(items.c.failures, batch.c.counted)
    return values
