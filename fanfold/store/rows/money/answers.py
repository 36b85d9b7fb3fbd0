"""Stores the answers of models for reuse (the cache), and every call with its cost (the ledger)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.lifecycle import ItemState
from fanfold.model.money.questions import Spending
from fanfold.store.dialects.dialect import Row
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.rows.money.answer_statements import CACHED_ANSWER, keep_statement, reserve_statement
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import answers, calls, items

CACHED = "cached"
"""Outcome of a call answered from the cache."""
TAKEN = "taken"
"""Outcome of a call whose answer was good."""
OWN = "own"
"""Provider name for usage that handlers report themselves."""
LATE = "late"
"""Outcome of what a handler used after it was told to stop."""
ASKED = "asked"
"""Outcome of a call that was sent and has no answer yet: it is in flight, or its process died."""
NO_ANSWER = "no answer"
"""Outcome of a call that may have cost money but brought no answer: a timeout, or a broken connection."""
BAD_ANSWER = "bad_answer"
"""Outcome of a call whose answer was bad, where the reason has no code of its own."""
RETRY, AGAIN, FALLBACK = "retry", "again", "fallback"
"""Why a question is asked again: an earlier attempt failed, the answer was bad, or the previous model gave none."""
USED = (TAKEN, CACHED)
"""Outcomes of calls whose answer is or was in the cache."""
OUTCOMES = (*USED, ASKED, NO_ANSWER)
"""Outcomes with a fixed meaning; any other text says why an answer was rejected."""
COLUMNS: dict[str, sa.types.TypeEngine[Any]] = {
    "item": sa.BigInteger(),
    "lease": sa.Integer(),
    "provider": sa.Text(),
    "model": sa.Text(),
    "outcome": sa.Text(),
    "input_tokens": sa.Integer(),
    "output_tokens": sa.Integer(),
    "cached_tokens": sa.Integer(),
    "cost": sa.Float(),
    "seconds": sa.Float(),
    "answer": sa.Text(),
    "raw": sa.Text(),
    "purpose": sa.Text(),
    "lane": sa.Text(),
    "reserved": sa.BigInteger(),
    "scopes": sa.Text(),
}


@dataclass(frozen=True)
class CallRow:
    """One call to a model, as stored in the ledger."""

    id: int
    item: str
    stage: str
    at: datetime
    provider: str
    model: str
    outcome: str
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    seconds: float
    raw: str | None


class Rejected(NamedTuple):
    """An answer that was paid for and rejected: why, and its text."""

    code: str
    raw: str


class LostCall(NamedTuple):
    """A call that the service treated as one with a later call: its last outcome, and its reservation in each budget."""

    outcome: str
    reserved: int
    scopes: tuple[str, ...]


class Answers:
    """Verbs on cached answers, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def get(self, key: str) -> str | None:
        """The answer cached under a key, if any."""
        found = run(self.connection, CACHED_ANSWER, {"wanted": key})
        return found[0][0] if found else None

    def begin(self, key: str, asker: str, seconds: float, item: int = 0, lease_seconds: float = 0.0) -> bool:
        """Reserve this question for at most ``seconds``; False if it is already reserved or answered.

        So two workers with the same page pay for it once. The reservation of a dead worker can be taken over at once, any
        other when it expires.
        """
        values = {"question": key, "asker": asker, "seconds": seconds, "of": item, "lease_seconds": lease_seconds}
        return bool(run(self.connection, reserve_statement(self.clock), values))

    def hold(self, key: str, worker: str) -> None:
        """Note which worker asks a reserved question, if its item does not say: then the reservation ends with that worker."""
        self.connection.execute(sa.update(answers).where(answers.c.key == key).values(worker=worker))

    def keep(self, key: str, body: str) -> None:
        """Store an answer, even if another worker reserved the question."""
        run(self.connection, keep_statement(self.clock), {"question": key, "given": body})

    def keep_all(self, bodies: Mapping[str, str]) -> None:
        """Store many answers, in the order of their keys."""
        if bodies:
            rows = [{"key": key, "body": body} for key, body in sorted(bodies.items())]
            new = self.clock.dialect.insert(answers).values([{**row, "answered_at": self.clock.now} for row in rows])
            self.connection.execute(_replacing(new))

    def give_up(self, key: str, asker: str) -> None:
        """Release an unanswered question, so that anyone may ask it again."""
        mine = sa.and_(answers.c.key == key, answers.c.asked_by == asker, answers.c.body.is_(None))
        self.connection.execute(sa.delete(answers).where(mine))

    def drop(self, key: str) -> None:
        """Delete an answer that turned out to be bad."""
        self.connection.execute(sa.delete(answers).where(answers.c.key == key))

    def drop_unused(self, task: int, keys: Sequence[str]) -> None:
        """Delete the answers that only this task has used: a deleted task leaves none of its texts behind."""
        others = sa.select(calls.c.answer).where(
            calls.c.task != task, calls.c.answer == answers.c.key, calls.c.outcome.in_(USED)
        )
        self.connection.execute(sa.delete(answers).where(answers.c.key.in_(keys), ~others.exists()))

    def drop_old(self, days: float, limit: int) -> int:
        """Delete answers older than ``days`` and reservations of dead workers; returns how many."""
        left = sa.and_(answers.c.body.is_(None), answers.c.asked_until < self.clock.before(86_400))
        aged = answers.c.answered_at < self.clock.before(days * 86_400)
        old = sa.select(answers.c.key).where(aged | left).limit(limit)
        gone = sa.delete(answers).where(answers.c.key.in_(old)).returning(answers.c.key)
        return len(list(self.connection.execute(gone)))


class Calls:
    """The ledger: every answer that was paid for, and every answer reused from the cache."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, rows: Sequence[Row]) -> bool:
        """Store calls of items; False if an item was deleted meanwhile. The calls of deleted items are skipped."""
        if not rows:
            return True
        kept = run(self.connection, add_statement(self.clock), {"rows": [_shortened(row) for row in rows]})
        return len(kept) == len(rows)

    def own(self, ids: Sequence[int]) -> set[tuple[int, int]]:
        """The attempts at these items, as (item, lease), whose own usage is counted as it was when they ended."""
        return self._own(ids, calls.c.outcome != LATE)

    def own_late(self, ids: Sequence[int]) -> set[tuple[int, int]]:
        """The same for what handlers used after they were told to stop."""
        return self._own(ids, calls.c.outcome == LATE)

    def _own(self, ids: Sequence[int], those: sa.ColumnElement[bool]) -> set[tuple[int, int]]:
        mine = sa.select(calls.c.item, calls.c.lease).where(calls.c.item.in_(ids), calls.c.provider == OWN, those)
        return {(row.item, row.lease) for row in self.connection.execute(mine)}

    def begin(self, row: Row) -> int | None:
        """Record a call before it is sent, so that it counts even if the process dies; None if its item is gone."""
        sent = _shortened({**row, "outcome": ASKED, "seconds": 0.0})
        noted = run(self.connection, add_statement(self.clock), {"rows": [sent]})
        return noted[0][0] if noted else None

    def settle(self, call: int, row: Row) -> bool:
        """Record the outcome of a call; False if its task was deleted meanwhile."""
        values = {f"new_{name}": value for name, value in _shortened(row).items()}
        return bool(run(self.connection, SETTLE_CALL, {**values, "settled": call}))

    def is_asked(self, call: int) -> bool:
        """Whether a recorded call is not settled yet."""
        asked = sa.select(calls.c.id).where(calls.c.id == call, calls.c.outcome == ASKED)
        return self.connection.execute(asked).first() is not None

    def rejected(self, item: int, first_lease: int, key: str) -> Rejected | None:
        """The rejected answer to a question in an attempt with this lease or a later one, if any."""
        found = run(self.connection, REJECTED_ANSWER, {"of": item, "first_lease": first_lease, "question": key})
        return Rejected(found[0][0], found[0][1] or "") if found else None

    def has_paid(self, item: int, key: str) -> bool:
        """Whether an item has paid for the answer to a question itself."""
        own = sa.select(calls.c.id).where(calls.c.item == item, calls.c.answer == key, calls.c.outcome == TAKEN)
        return self.connection.execute(own.limit(1)).first() is not None

    def has_asked(self, item: int, first_lease: int, key: str) -> bool:
        """Whether an attempt with this lease or a later one has asked a question, in whatever way it was answered."""
        own = sa.and_(calls.c.item == item, calls.c.lease >= first_lease, calls.c.answer == key)
        return self.connection.execute(sa.select(calls.c.id).where(own).limit(1)).first() is not None

    def reject(self, item: int, first_lease: int, key: str, code: str, raw: str) -> bool:
        """Mark an accepted answer as bad: its cost still counts, and this item does not get the answer again.

        False if no attempt with this lease or a later one has paid for it.
        """
        mine = sa.and_(calls.c.item == item, calls.c.answer == key, calls.c.outcome == TAKEN)
        now_bad = sa.update(calls).where(mine, calls.c.lease >= first_lease).values(outcome=code[:100], raw=raw)
        return self.connection.execute(now_bad).rowcount > 0

    def withdraw(self, call: int) -> None:
        """Delete a call that never reached the service or was refused: it cost nothing."""
        self.connection.execute(sa.delete(calls).where(calls.c.id == call))

    def withdraw_repeated(self, call: int, item: int, key: str) -> list[LostCall]:
        """Delete an item's calls without an answer and with this idempotency key: the service treated them as one call.

        Returns what they had reserved.
        """
        unknown = sa.and_(calls.c.outcome.in_((ASKED, NO_ANSWER)), calls.c.answer == key, calls.c.id != call)
        gone = sa.delete(calls).where(calls.c.item == item, unknown)
        found = self.connection.execute(gone.returning(calls.c.outcome, calls.c.reserved, calls.c.scopes))
        return [LostCall(row.outcome, row.reserved, tuple(json.loads(row.scopes))) for row in found if row.scopes]

    def is_withdrawn(self, call: int, item: int) -> bool:
        """Whether a call is gone although its item exists: ``withdraw_repeated`` deleted it in favour of a later call."""
        noted = sa.select(calls.c.id).where(calls.c.id == call)
        found = sa.select(items.c.id).where(items.c.id == item, ~noted.exists())
        return self.connection.execute(found).first() is not None

    def of_tasks(self, tasks: Sequence[int]) -> dict[int, Spending]:
        """What each task has spent."""
        if len(tasks) == 1 and not self.exist(tasks[0]):
            return {}
        return self._spent(calls.c.task, tasks)

    def exist(self, task: int) -> bool:
        """Whether a task made any calls. Most tasks make none, and then no further query is needed."""
        return bool(run(self.connection, ANY_CALL, {"wanted": task}))

    def of_items(self, ids: Sequence[int]) -> dict[int, Spending]:
        """What each item has spent over all its attempts."""
        return self._spent(calls.c.item, ids)

    def of_task(
        self, task: int, item: int | None = None, *, before: int | None = None, limit: int | None = None
    ) -> list[CallRow]:
        """The last calls of a task or of one of its items, in order; with ``before``, only ids below it."""
        wanted = (
            sa.select(calls, items.c.key, items.c.seq, items.c.stage)
            .outerjoin(items, items.c.id == calls.c.item)
            .where(calls.c.task == task)
            .order_by(calls.c.id.desc())
            .limit(limit)
        )
        if item is not None:
            wanted = wanted.where(calls.c.item == item)
        if before is not None:
            wanted = wanted.where(calls.c.id < before)
        return [
            CallRow(
                id=row.id,
                item=row.key or str(row.seq or ""),
                stage=row.stage or "",
                at=row.at,
                provider=row.provider,
                model=row.model,
                outcome=row.outcome,
                input_tokens=row.input_tokens,
                output_tokens=row.output_tokens,
                cost=row.cost,
                seconds=row.seconds,
                raw=row.raw,
            )
            for row in reversed(self.connection.execute(wanted).all())
        ]

    def _spent(self, column: sa.Column[Any], wanted: Sequence[int]) -> dict[int, Spending]:
        if not wanted:
            return {}
        rows = run(self.connection, spent_statement(self.clock, column), {"ids": list(wanted)})
        last = run(self.connection, models_statement(self.clock), {"ids": [row[-1] for row in rows]})
        models = {call: f"{provider}:{model}" for call, provider, model in last}
        return {row[0]: _spending(row, models.get(row[-1])) for row in rows}


def _replacing(new: Any) -> sa.Insert:
    kept = {"body": new.excluded.body, "answered_at": new.excluded.answered_at, "asked_by": None, "worker": None}
    replacing: sa.Insert = new.on_conflict_do_update(index_elements=["key"], set_=kept)
    return replacing


def is_lost() -> sa.ColumnElement[bool]:
    """The call may have been charged but brought no answer. A call whose attempt still runs is in flight instead."""
    sender = sa.select(items.c.id).where(
        items.c.id == calls.c.item, items.c.lease == calls.c.lease, items.c.state == ItemState.RUNNING
    )
    return sa.or_(calls.c.outcome == NO_ANSWER, sa.and_(calls.c.outcome == ASKED, ~sender.exists()))


def _spending(row: tuple[Any, ...], model: str | None) -> Spending:
    _, made, cached, unpriced, sent, received, cost, lost, _ = row
    return Spending(int(made), int(cached), int(unpriced), int(sent), int(received), float(cost), model, int(lost))


def _is_none_of(*outcomes: str) -> sa.ColumnElement[bool]:
    return sa.and_(*(calls.c.outcome != outcome for outcome in outcomes))


def _shortened(row: Row) -> dict[str, Any]:
    """A row with all columns. Names are cut to the width of their column."""
    filled = {name: row.get(name) for name in COLUMNS}
    return filled | {"model": str(filled["model"])[:200], "outcome": str(filled["outcome"])[:100]}


ANY_CALL = sa.select(calls.c.id).where(calls.c.task == sa.bindparam("wanted")).limit(1)
REJECTED_ANSWER = (
    sa.select(calls.c.outcome, calls.c.raw)
    .where(
        calls.c.item == sa.bindparam("of"),
        calls.c.lease >= sa.bindparam("first_lease"),
        calls.c.answer == sa.bindparam("question"),
        _is_none_of(*OUTCOMES),
    )
    .order_by(calls.c.id.desc())
    .limit(1)
)
SETTLE_CALL = (
    sa.update(calls)
    .where(calls.c.id == sa.bindparam("settled"))
    .values({name: sa.bindparam(f"new_{name}") for name in COLUMNS if name not in ("item", "lease")})
    .returning(calls.c.id)
)


@lru_cache(maxsize=64)
def add_statement(clock: SqlClock) -> sa.Executable:
    """Store calls of the items that still exist."""
    batch = clock.dialect.unfolded(COLUMNS)
    chosen = sa.select(*batch.c, items.c.task, clock.now).join(items, items.c.id == batch.c.item)
    # A transaction that deletes the items waits for this lock, and then finds the calls.
    chosen = chosen.with_for_update(read=True, key_share=True, of=items)
    return sa.insert(calls).from_select([*COLUMNS, "task", "at"], chosen).returning(calls.c.id)


@lru_cache(maxsize=64)
def spent_statement(clock: SqlClock, column: sa.Column[Any]) -> sa.Executable:
    """What each task or item has spent, in the order of the fields of ``Spending``, and its last call."""
    paid = _is_none_of(CACHED, ASKED, NO_ANSWER)
    summed = sa.select(
        column,
        _count(paid),
        _count(calls.c.outcome == CACHED),
        _count(sa.and_(paid, calls.c.cost.is_(None))),
        sa.func.coalesce(sa.func.sum(calls.c.input_tokens), 0),
        sa.func.coalesce(sa.func.sum(calls.c.output_tokens), 0),
        sa.func.coalesce(sa.func.sum(calls.c.cost), 0.0),
        _count(is_lost()),
        sa.func.max(calls.c.id),
    )
    return summed.where(clock.dialect.among(column)).group_by(column)


def _count(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.sum(sa.case((condition, 1), else_=0))


@lru_cache(maxsize=64)
def models_statement(clock: SqlClock) -> sa.Executable:
    """Provider and model of calls."""
    return sa.select(calls.c.id, calls.c.provider, calls.c.model).where(clock.dialect.among(calls.c.id))
