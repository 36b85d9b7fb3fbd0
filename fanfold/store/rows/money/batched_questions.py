"""Verbs on questions in the batch lane, and on the items that wait for their answers.

Items are locked before questions, in the same order as when an attempt is settled, so that transactions cannot deadlock.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from fanfold.model.item import HELD_FROM
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.money.batch import OPEN_MEMBERS, LaneCounts, MemberState
from fanfold.model.text.sentences import kept, restored
from fanfold.store.dialects.sql_clock import SqlClock, UtcTime
from fanfold.store.items.locks import lock_items
from fanfold.store.rows.money.budgets import Budgets, in_lock_order
from fanfold.store.rows.money.lane_counts import lane_counts
from fanfold.store.schema.money.batch_tables import COLLECTED, SENT, batch_members
from fanfold.store.schema.tables import item_data, items, tasks

ASKER = sa.select(items.c.id).join(tasks, tasks.c.number == items.c.task).where(items.c.id == batch_members.c.item)
THERE = ASKER.exists()
"""Questions whose item and task were not deleted."""
WANTED = ASKER.where(tasks.c.state != TaskState.CANCELLED.value).exists()
"""Questions whose item exists, in a task that is not cancelled."""
OPEN = batch_members.c.state.in_([str(state) for state in OPEN_MEMBERS])
WOKEN_AT_ONCE = 1_000


@dataclass(frozen=True)
class NewMember:
    """A question to be put into the batch lane."""

    key: str
    provider: str
    model: str
    request: str
    bytes: int
    tokens: int
    wanted_by: datetime | None = None
    reserved: int = 0
    """What its answer may cost, as reserved in the budgets of ``scopes``."""
    scopes: tuple[str, ...] = ()
    purpose: str | None = None
    """Why it is asked again: as in the ledger."""


@dataclass(frozen=True)
class MemberRow:
    """A question in the batch lane."""

    id: int
    task: int
    item: int
    lease: int
    key: str
    model: str
    state: MemberState
    request: str | None
    bytes: int
    tokens: int
    tries: int
    code: str | None
    reason: str | None
    scopes: str | None = None
    purpose: str | None = None
    reserved: int | None = None


@dataclass(frozen=True)
class QuestionGroup:
    """Questions that can go into one batch, and how long the first and the last of them have waited."""

    provider: str
    model: str
    wanted_by: datetime | None
    questions: int
    oldest_seconds: float
    newest_seconds: float


class BatchedQuestions:
    """Verbs on questions in the batch lane, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock
        self._freed: Counter[str] = Counter()

    def register(self, item: int, lease: int, new: NewMember) -> bool:
        """Add a question of an attempt to the lane; False if it is already there or the lease was lost."""
        values = {
            "lease": lease, "key": new.key, "provider": new.provider, "model": new.model[:200],
            "state": MemberState.COLLECTED.value, "request": new.request, "reserved": new.reserved,
            "scopes": json.dumps(new.scopes) if new.scopes else None, "bytes": new.bytes, "tokens": new.tokens,
            "purpose": new.purpose,
        }  # fmt: skip
        columns = [sa.literal(value).label(name) for name, value in values.items()]
        wanted = sa.literal(new.wanted_by, UtcTime).label("wanted_by")
        mine = sa.select(items.c.task, items.c.id, *columns, self.clock.now, wanted)
        mine = mine.where(items.c.id == item, items.c.lease == lease)
        # A transaction that deletes the item waits for this lock, and then finds the question.
        mine = mine.with_for_update(read=True, key_share=True, of=items)
        names = ["task", "item", *values, "at", "wanted_by"]
        made = self.clock.dialect.insert(batch_members).from_select(names, mine).on_conflict_do_nothing()
        return self.connection.execute(made.returning(batch_members.c.id)).first() is not None

    def of_question(self, item: int, key: str) -> MemberRow | None:
        """The state and outcome of an item's question."""
        found = sa.select(*MEMBER).where(batch_members.c.item == item, batch_members.c.key == key)
        row = self.connection.execute(found).first()
        return None if row is None else _member(row)

    def options_now(self, item: int) -> str | None:
        """The options of an item's task, which may have changed since the item was claimed."""
        found = sa.select(tasks.c.options).join(items, items.c.task == tasks.c.number).where(items.c.id == item)
        return self.connection.execute(found).scalar()

    def answered_keys(self, item: int, first_lease: int) -> set[str]:
        """The answered questions of an item, since it was created or last redone on purpose."""
        mine = sa.and_(batch_members.c.item == item, batch_members.c.lease >= first_lease)
        found = sa.select(batch_members.c.key).where(mine, batch_members.c.state == MemberState.ANSWERED.value)
        return set(self.connection.execute(found).scalars())

    def forget(self, item: int, key: str) -> None:
        """Remove a question that is settled, so that it can be asked again."""
        mine = sa.and_(batch_members.c.item == item, batch_members.c.key == key, sa.not_(OPEN))
        self.connection.execute(sa.delete(batch_members).where(mine))

    def reject(self, key: str, code: str, raw: str) -> None:
        """Note that an answer is bad in every question that got it. Its text goes with it: the cache no longer has it."""
        same = sa.and_(batch_members.c.key == key, batch_members.c.state == MemberState.ANSWERED.value)
        told = {"code": code[:100], "reason": raw, "reason_sentence": None}
        self.connection.execute(sa.update(batch_members).where(same).values(told))

    def settle_waits(self, ids: Sequence[int]) -> None:
        """Make items due at once if they were just postponed for a batch but have no open question.

        The time in a batch does not count as waiting for an external job.
        """
        lost = sa.select(batch_members.c.id).where(batch_members.c.item == items.c.id, OPEN)
        due = sa.update(items).where(items.c.id.in_(ids), items.c.state == ItemState.WAITING.value, ~lost.exists())
        self.connection.execute(due.values(available_at=self.clock.now))
        self.connection.execute(sa.update(item_data).where(item_data.c.item.in_(ids)).values(waiting_since=None))

    def wake(self, ids: Sequence[int]) -> None:
        """Make items that wait for a batch due. The caller has locked their rows."""
        if not ids:
            return
        waits = sa.and_(items.c.state == ItemState.WAITING.value, items.c.available_at < sa.literal(HELD_FROM, UtcTime))
        due = sa.update(items).where(items.c.id.in_(ids), waits).values(available_at=self.clock.now)
        self.connection.execute(due)
        self.clock.dialect.announce(self.connection)

    def wake_for_budget(self, task: int, code: str) -> None:
        """Make due the items of a task that wait for room in a budget, which has changed."""
        found = sa.select(items.c.id).join(item_data, item_data.c.item == items.c.id).where(items.c.task == task)
        later = sa.and_(items.c.state == ItemState.RETRYING.value, items.c.available_at > self.clock.now)
        ids = list(self.connection.execute(found.where(later, item_data.c.error_code == code)).scalars())
        for start in range(0, len(ids), WOKEN_AT_ONCE):
            some = sorted(ids[start : start + WOKEN_AT_ONCE])
            lock_items(self.connection, some)
            due = sa.update(items).where(items.c.id.in_(some), later).values(available_at=self.clock.now)
            self.connection.execute(due)
        self.clock.dialect.announce(self.connection)

    def groups(self) -> list[QuestionGroup]:
        """The questions that wait for a batch, grouped by what can be sent together."""
        same = batch_members.c.provider, batch_members.c.model, batch_members.c.wanted_by
        ages = (
            self.clock.seconds_since(sa.func.min(batch_members.c.at, type_=UtcTime)),
            self.clock.seconds_since(sa.func.max(batch_members.c.at, type_=UtcTime)),
        )
        found = sa.select(*same, sa.func.count(), *ages).where(COLLECTED).group_by(*same)
        return [QuestionGroup(*row) for row in self.connection.execute(found)]

    def waiting(self, group: QuestionGroup, limit: int) -> list[MemberRow]:
        """Questions of a group to send, oldest first: one for each key, and none whose key is in a batch already."""
        twin = batch_members.alias("twin")
        sent = sa.select(twin.c.id).where(twin.c.key == batch_members.c.key, twin.c.state == MemberState.SENT.value)
        found = sa.select(*LIGHT).where(*_of_group(group), COLLECTED, ~sent.exists())
        rows = self.connection.execute(found.order_by(batch_members.c.id).limit(limit))
        once = {row.key: _member(row) for row in reversed(rows.all())}
        return sorted(once.values(), key=lambda member: member.id)

    def members(self, batch: int, after: int, limit: int) -> list[MemberRow]:
        """The questions of a batch with ids above ``after``, with their requests, by id; without those of deleted tasks."""
        known = sa.and_(SENT, batch_members.c.request.is_not(None))
        found = sa.select(*MEMBER).where(batch_members.c.batch == batch, known, batch_members.c.id > after)
        return [_member(row) for row in self.connection.execute(found.order_by(batch_members.c.id).limit(limit))]

    def open_among(self, ids: Sequence[int]) -> list[MemberRow]:
        """The given questions that are open, and other items' open questions with the same keys. Locks their items."""
        keys = sa.select(batch_members.c.key).where(batch_members.c.id.in_(ids))
        found = sa.select(*MEMBER).where(batch_members.c.key.in_(keys), OPEN)
        waiting = sorted({row.item for row in self.connection.execute(found)})
        lock_items(self.connection, waiting)
        return [_member(row) for row in self.connection.execute(found.order_by(batch_members.c.id))]

    def by_ids(self, ids: Sequence[int]) -> list[MemberRow]:
        """The given questions in any state, without their requests."""
        return [_member(row) for row in self.connection.execute(sa.select(*LIGHT).where(batch_members.c.id.in_(ids)))]

    def with_request(self, id_: int) -> MemberRow | None:
        """A question with its request."""
        row = self.connection.execute(sa.select(*MEMBER).where(batch_members.c.id == id_)).first()
        return None if row is None else _member(row)

    def settle(
        self, ids: Sequence[int], state: MemberState, code: str | None = None, reason: str | None = None
    ) -> None:
        """Settle open questions, and drop their requests and reservations, which are no longer needed."""
        ended = sa.update(batch_members).where(batch_members.c.id.in_(ids), OPEN)
        told = {"code": code, "reason": reason, "reason_sentence": kept(reason)}
        self._free(ended.values(state=state.value, request=None, **told))

    def _free(self, change: sa.Update | sa.Delete) -> list[int]:
        """Change or delete open questions, and note what they reserved; returns their ids."""
        columns = batch_members.c.id, batch_members.c.scopes, batch_members.c.reserved
        rows = self.connection.execute(change.returning(*columns)).all()
        for row in rows:
            if row.scopes:
                self._freed.update(dict.fromkeys(json.loads(row.scopes), row.reserved or 0))
        return [row.id for row in rows]

    def answer_late(self, ids: Sequence[int]) -> None:
        """Mark as answered the questions that were to be asked live but got an answer in their batch: it counts once."""
        if ids:
            late = sa.and_(batch_members.c.id.in_(ids), batch_members.c.state == MemberState.LIVE.value)
            self.connection.execute(sa.update(batch_members).where(late).values(state=MemberState.ANSWERED.value))

    def withdraw(self, ids: Sequence[int]) -> set[int]:
        """Remove the given questions whose item or task was deleted; returns their ids."""
        nobody = sa.and_(batch_members.c.id.in_(ids), OPEN, ~THERE)
        return set(self._free(sa.delete(batch_members).where(nobody)))

    def pipelines(self, of_tasks: Collection[int]) -> dict[int, str]:
        """The pipelines of tasks, without those that were deleted."""
        found = sa.select(tasks.c.number, tasks.c.pipeline).where(tasks.c.number.in_(of_tasks))
        return {row.number: row.pipeline for row in self.connection.execute(found)}

    def free_budgets(self, *, lost: bool = False) -> None:
        """Release the reservations of the questions settled here. Last in the transaction, as for live calls.

        If they are ``lost``, they may have been charged: what they reserved stays, as unknown.
        """
        for scope in in_lock_order(self._freed):
            freed = self._freed[scope]
            Budgets(self.connection, self.clock).settle([scope], freed, 0, unknown=freed if lost else 0)
        self._freed.clear()

    def give_back(self, batch: int, limit: int) -> tuple[list[int], int]:
        """Take the questions without a result out of an ended batch, at most ``limit``.

        Those past their deadline are asked live, those of cancelled tasks are removed, the rest wait for the next batch.
        Returns the items that ask live, and how many questions were taken out.
        """
        found = sa.select(*MEMBER, batch_members.c.wanted_by <= self.clock.now).where(
            batch_members.c.batch == batch, SENT
        )
        rows = self.connection.execute(found.order_by(batch_members.c.id).limit(limit)).all()
        lock_items(self.connection, sorted({row.item for row in rows}))
        nobody = sa.and_(batch_members.c.id.in_([row.id for row in rows]), SENT, ~WANTED)
        gone = set(self._free(sa.delete(batch_members).where(nobody)))
        self.wake([row.item for row in rows if row.id in gone])
        late = [row for row in rows if row[-1] and row.id not in gone]
        again = [row for row in rows if not row[-1] and row.id not in gone]
        self.settle([row.id for row in late], MemberState.LIVE)
        returned = sa.update(batch_members).where(batch_members.c.id.in_([row.id for row in again]), SENT)
        self.connection.execute(returned.values(state=MemberState.COLLECTED.value, batch=None, at=self.clock.now))
        return [row.item for row in late], len(rows)

    def sent_in(self, batch: int, limit: int) -> list[MemberRow]:
        """The questions of a batch without a result, as many as ``give_back`` takes, with their items locked."""
        found = sa.select(*LIGHT).where(batch_members.c.batch == batch, SENT).order_by(batch_members.c.id).limit(limit)
        lock_items(self.connection, sorted({row.item for row in self.connection.execute(found)}))
        return [_member(row) for row in self.connection.execute(found)]

    def withdraw_unwanted(self, limit: int) -> None:
        """Remove questions that are in no batch and whose task was cancelled or deleted."""
        found = sa.select(batch_members.c.id, batch_members.c.item).where(COLLECTED, ~WANTED).limit(limit)
        rows = self.connection.execute(found).all()
        if rows:
            lock_items(self.connection, sorted({row.item for row in rows}))
            # Check again under the lock: a person may have continued the task meanwhile.
            nobody = sa.and_(batch_members.c.id.in_([row.id for row in rows]), COLLECTED, ~WANTED)
            gone = set(self._free(sa.delete(batch_members).where(nobody)))
            self.wake([row.item for row in rows if row.id in gone])  # In case the task is retried.

    def go_live(self, task: int) -> int:
        """Ask a task's questions live: those in no batch at once, the others when their batch is over. Returns how many.

        A question that another item of the task has in a batch waits for that batch too: its answer may be paid for already.
        """
        mine = sa.select(*LIGHT).where(batch_members.c.task == task, OPEN)
        found = self.connection.execute(mine).all()
        lock_items(self.connection, sorted({row.item for row in found}))
        rows = self.connection.execute(mine).all()
        sent = {row.key for row in rows if row.state == MemberState.SENT.value}
        at_once = [row for row in rows if row.key not in sent]
        self.settle([row.id for row in at_once], MemberState.LIVE)
        self.wake([row.item for row in at_once])
        late = sa.update(batch_members).where(batch_members.c.task == task, OPEN)
        self.connection.execute(late.values(wanted_by=self.clock.now))
        return len(rows)

    def late_collected(self, limit: int) -> list[int]:
        """Ask live the questions that are past their deadline and that their task has in no batch; returns their items."""
        twin = batch_members.alias("twin")
        same = twin.c.key == batch_members.c.key, twin.c.task == batch_members.c.task
        sent = sa.select(twin.c.id).where(*same, twin.c.state == MemberState.SENT.value)
        late = sa.and_(COLLECTED, batch_members.c.wanted_by <= self.clock.now, ~sent.exists())
        rows = self.connection.execute(sa.select(*LIGHT).where(late).limit(limit)).all()
        if rows:
            lock_items(self.connection, sorted({row.item for row in rows}))
            self.settle([row.id for row in rows], MemberState.LIVE)
            self.wake([row.item for row in rows])
        return [row.item for row in rows]

    def remove(self, task: int, limit: int) -> int:
        """Remove questions of a deleted task; returns how many.

        Questions that were sent to a service stay, without their text, until their cost is known.
        """
        mine = batch_members.c.task == task
        some = sa.select(batch_members.c.id).where(mine, sa.not_(SENT)).order_by(batch_members.c.id).limit(limit)
        collected = self._free(sa.delete(batch_members).where(batch_members.c.id.in_(some), COLLECTED))
        over = self.connection.execute(sa.delete(batch_members).where(batch_members.c.id.in_(some), sa.not_(OPEN)))
        text = sa.and_(mine, SENT, batch_members.c.request.is_not(None))
        self.connection.execute(sa.update(batch_members).where(text).values(request=None))
        self.free_budgets()
        return len(collected) + over.rowcount

    def counts(self, of_tasks: Sequence[int]) -> dict[int, LaneCounts]:
        """How many questions of each task are in the lane; tasks without any are left out."""
        return lane_counts(self.connection, self.clock, of_tasks)


def _of_group(group: QuestionGroup) -> tuple[sa.ColumnElement[bool], ...]:
    wanted = batch_members.c.wanted_by
    same = wanted.is_(None) if group.wanted_by is None else wanted == group.wanted_by
    return batch_members.c.provider == group.provider, batch_members.c.model == group.model, same


NAMES = tuple(MemberRow.__dataclass_fields__)
MEMBER = (*(batch_members.c[name] for name in NAMES), batch_members.c.reason_sentence)
LIGHT = tuple(sa.null().label("request") if column.name == "request" else column for column in MEMBER)
"""A question without its request, which may be large."""


def _member(row: Any) -> MemberRow:
    known = {name: getattr(row, name) for name in NAMES}
    reason = restored(row.reason, row.reason_sentence)
    return MemberRow(**{**known, "state": MemberState(row.state), "reason": reason})
