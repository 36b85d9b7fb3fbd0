"""Verbs on questions in the batch lane, and on the items that wait for their answers.

Items are locked before questions, as the settlement of an attempt does it, so that no two transactions wait for each other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from fanfold.model.batch import OPEN_MEMBERS, LaneCounts, MemberState
from fanfold.model.item import HELD_FROM
from fanfold.model.lifecycle import ItemState
from fanfold.model.text.sentences import kept, restored
from fanfold.store.dialects.clock import Clock, UtcTime
from fanfold.store.items.locks import lock_items
from fanfold.store.rows.budgets import Budgets
from fanfold.store.schema.batch_tables import COLLECTED, SENT, batch_members
from fanfold.store.schema.tables import item_data, items, tasks

OPEN = batch_members.c.state.in_([str(state) for state in OPEN_MEMBERS])


@dataclass(frozen=True)
class NewMember:
    """A question on its way into the batch lane."""

    key: str
    provider: str
    model: str
    request: str
    bytes: int
    tokens: int
    wanted_by: datetime | None = None
    reserved: int = 0
    """What its answer may cost, as it is reserved in the budgets of ``scopes``."""
    scopes: tuple[str, ...] = ()


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


@dataclass(frozen=True)
class Group:
    """Questions that can go into one batch, and how long the first and the last of them have waited."""

    provider: str
    model: str
    wanted_by: datetime | None
    questions: int
    oldest_seconds: float
    newest_seconds: float


class BatchedQuestions:
    """Verbs on questions in the batch lane, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock
        self._freed: Counter[tuple[str, ...]] = Counter()

    def register(self, item: int, lease: int, new: NewMember) -> bool:
        """Put a question of an attempt into the lane; False when it is there already, or when the lease was lost."""
        values = {
            "lease": lease, "key": new.key, "provider": new.provider, "model": new.model[:200],
            "state": MemberState.COLLECTED.value, "request": new.request, "reserved": new.reserved,
            "scopes": json.dumps(new.scopes) if new.scopes else None, "bytes": new.bytes, "tokens": new.tokens,
        }  # fmt: skip
        columns = [sa.literal(value).label(name) for name, value in values.items()]
        wanted = sa.literal(new.wanted_by, UtcTime).label("wanted_by")
        mine = sa.select(items.c.task, items.c.id, *columns, self.clock.now, wanted)
        mine = mine.where(items.c.id == item, items.c.lease == lease)
        if self.connection.execute(mine.with_for_update(read=True, key_share=True, of=items)).first() is None:
            return False
        names = ["task", "item", *values, "at", "wanted_by"]
        made = self.clock.dialect.insert(batch_members).from_select(names, mine).on_conflict_do_nothing()
        return self.connection.execute(made.returning(batch_members.c.id)).first() is not None

    def of_question(self, item: int, key: str) -> MemberRow | None:
        """What became of an item's question."""
        found = sa.select(*MEMBER).where(batch_members.c.item == item, batch_members.c.key == key)
        row = self.connection.execute(found).first()
        return None if row is None else _member(row)

    def options_now(self, item: int) -> str | None:
        """The options of an item's task, which may have changed since the item was claimed."""
        found = sa.select(tasks.c.options).join(items, items.c.task == tasks.c.number).where(items.c.id == item)
        return self.connection.execute(found).scalar()

    def answered_keys(self, item: int, first_lease: int) -> set[str]:
        """The questions of an item that were answered, since it was new or last redone on purpose."""
        mine = sa.and_(batch_members.c.item == item, batch_members.c.lease >= first_lease)
        found = sa.select(batch_members.c.key).where(mine, batch_members.c.state == MemberState.ANSWERED.value)
        return set(self.connection.execute(found).scalars())

    def forget(self, item: int, key: str) -> None:
        """Remove a question that is settled, so that it can be asked again."""
        mine = sa.and_(batch_members.c.item == item, batch_members.c.key == key, sa.not_(OPEN))
        self.connection.execute(sa.delete(batch_members).where(mine))

    def settle_waits(self, ids: Sequence[int]) -> None:
        """Items have just been postponed for a batch: those without an open question are due at once.

        The time in a batch does not count as waiting for an external job.
        """
        lost = sa.select(batch_members.c.id).where(batch_members.c.item == items.c.id, OPEN)
        due = sa.update(items).where(items.c.id.in_(ids), items.c.state == ItemState.WAITING.value, ~lost.exists())
        self.connection.execute(due.values(available_at=self.clock.now))
        self.connection.execute(sa.update(item_data).where(item_data.c.item.in_(ids)).values(waiting_since=None))

    def wake(self, ids: Sequence[int]) -> None:
        """Make items due that wait for a batch; their rows are locked."""
        if not ids:
            return
        waits = sa.and_(items.c.state == ItemState.WAITING.value, items.c.available_at < sa.literal(HELD_FROM, UtcTime))
        due = sa.update(items).where(items.c.id.in_(ids), waits).values(available_at=self.clock.now)
        self.connection.execute(due)
        self.clock.dialect.announce(self.connection)

    def groups(self) -> list[Group]:
        """The questions that wait for a batch, by what can be sent together."""
        same = batch_members.c.provider, batch_members.c.model, batch_members.c.wanted_by
        ages = (
            self.clock.seconds_since(sa.func.min(batch_members.c.at, type_=UtcTime)),
            self.clock.seconds_since(sa.func.max(batch_members.c.at, type_=UtcTime)),
        )
        found = sa.select(*same, sa.func.count(), *ages).where(COLLECTED).group_by(*same)
        return [Group(*row) for row in self.connection.execute(found)]

    def waiting(self, group: Group, limit: int) -> list[MemberRow]:
        """Questions of a group that no batch has, the oldest first, each once."""
        twin = batch_members.alias("twin")
        sent = sa.select(twin.c.id).where(twin.c.key == batch_members.c.key, twin.c.state == MemberState.SENT.value)
        found = sa.select(*LIGHT).where(*_of_group(group), COLLECTED, ~sent.exists())
        rows = self.connection.execute(found.order_by(batch_members.c.id).limit(limit))
        once = {row.key: _member(row) for row in reversed(rows.all())}
        return sorted(once.values(), key=lambda member: member.id)

    def members(self, batch: int, after: int, limit: int) -> list[MemberRow]:
        """The questions of a batch with their requests, by id, for those above ``after``."""
        found = sa.select(*MEMBER).where(batch_members.c.batch == batch, SENT, batch_members.c.id > after)
        return [_member(row) for row in self.connection.execute(found.order_by(batch_members.c.id).limit(limit))]

    def open_among(self, ids: Sequence[int]) -> list[MemberRow]:
        """Those of these questions that are open, with every other item's open question of the same key; items are locked."""
        keys = sa.select(batch_members.c.key).where(batch_members.c.id.in_(ids))
        found = sa.select(*MEMBER).where(batch_members.c.key.in_(keys), OPEN)
        waiting = sorted({row.item for row in self.connection.execute(found)})
        lock_items(self.connection, waiting)
        return [_member(row) for row in self.connection.execute(found.order_by(batch_members.c.id))]

    def by_ids(self, ids: Sequence[int]) -> list[MemberRow]:
        """These questions, whatever became of them, without their requests."""
        return [_member(row) for row in self.connection.execute(sa.select(*LIGHT).where(batch_members.c.id.in_(ids)))]

    def with_request(self, id_: int) -> MemberRow | None:
        """A question with its request."""
        row = self.connection.execute(sa.select(*MEMBER).where(batch_members.c.id == id_)).first()
        return None if row is None else _member(row)

    def settle(
        self, ids: Sequence[int], state: MemberState, code: str | None = None, reason: str | None = None
    ) -> None:
        """Open questions have come to an end; their requests are not needed any more, nor what they reserved."""
        ended = sa.update(batch_members).where(batch_members.c.id.in_(ids), OPEN)
        told = {"code": code, "reason": reason, "reason_sentence": kept(reason)}
        values = ended.values(state=state.value, request=None, **told)
        for row in self.connection.execute(values.returning(batch_members.c.scopes, batch_members.c.reserved)):
            if row.scopes:
                self._freed[tuple(json.loads(row.scopes))] += row.reserved or 0

    def answer_late(self, id_: int) -> None:
        """A question that was to be asked live was answered in its batch after all; its answer is counted once."""
        late = sa.and_(batch_members.c.id == id_, batch_members.c.state == MemberState.LIVE.value)
        self.connection.execute(sa.update(batch_members).where(late).values(state=MemberState.ANSWERED.value))

    def free_budgets(self) -> None:
        """Give back what the questions that were settled here had reserved; the last of a transaction, as for live calls."""
        for scopes, amount in sorted(self._freed.items()):
            Budgets(self.connection, self.clock).settle(scopes, amount, 0)
        self._freed.clear()

    def give_back(self, batch: int, limit: int) -> tuple[list[int], list[int]]:
        """Questions of an ended batch without a result: the items to be asked live, and those left for the next batch."""
        found = sa.select(*MEMBER, batch_members.c.wanted_by <= self.clock.now).where(
            batch_members.c.batch == batch, SENT
        )
        rows = self.connection.execute(found.order_by(batch_members.c.id).limit(limit)).all()
        lock_items(self.connection, sorted({row.item for row in rows}))
        late = [row for row in rows if row[-1]]
        again = [row for row in rows if not row[-1]]
        self.settle([row.id for row in late], MemberState.LIVE)
        returned = sa.update(batch_members).where(batch_members.c.id.in_([row.id for row in again]), SENT)
        self.connection.execute(returned.values(state=MemberState.COLLECTED.value, batch=None, at=self.clock.now))
        return [row.item for row in late], [row.item for row in again]

    def go_live(self, task: int) -> int:
        """Questions of a task that no batch has are asked live; those that a batch has, once it is over. Returns how many."""
        mine = sa.select(*LIGHT).where(batch_members.c.task == task, OPEN)
        found = self.connection.execute(mine).all()
        lock_items(self.connection, sorted({row.item for row in found}))
        rows = self.connection.execute(mine).all()
        collected = [row for row in rows if row.state == MemberState.COLLECTED.value]
        self.settle([row.id for row in collected], MemberState.LIVE)
        self.wake([row.item for row in collected])
        late = sa.update(batch_members).where(batch_members.c.task == task, SENT)
        self.connection.execute(late.values(wanted_by=self.clock.now))
        return len(rows)

    def late_collected(self, limit: int) -> list[int]:
        """Questions that are past their deadline before any batch had them are asked live; returns their items."""
        late = sa.and_(COLLECTED, batch_members.c.wanted_by <= self.clock.now)
        rows = self.connection.execute(sa.select(*LIGHT).where(late).limit(limit)).all()
        if rows:
            lock_items(self.connection, sorted({row.item for row in rows}))
            self.settle([row.id for row in rows], MemberState.LIVE)
            self.wake([row.item for row in rows])
        return [row.item for row in rows]

    def counts(self, of_tasks: Sequence[int]) -> dict[int, LaneCounts]:
        """How many questions of each task are in the lane; tasks without any are left out."""
        same = batch_members.c.task, batch_members.c.state
        counted = sa.select(*same, sa.func.count().label("count")).where(batch_members.c.task.in_(of_tasks))
        found: dict[int, dict[str, int]] = {}
        for row in self.connection.execute(counted.group_by(*same)):
            found.setdefault(row.task, {})[row.state] = row[2]
        return {task: LaneCounts(**by_state) for task, by_state in found.items()}


def _of_group(group: Group) -> tuple[sa.ColumnElement[bool], ...]:
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
