"""Stores the answers of models for reuse (the cache), and every call with its cost (the ledger)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from fanfold.model.lifecycle import ItemState
from fanfold.model.values.questions import Spending
from fanfold.store.dialects.clock import Clock
from fanfold.store.dialects.dialect import Row
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import answers, calls, items, workers

CACHED = "cached"
"""Outcome of a call answered from the cache."""
TAKEN = "taken"
"""Outcome of a call whose answer was good."""
OWN = "own"
"""Provider name for usage that handlers report themselves."""
ASKED = "asked"
"""Outcome of a call that was sent and has no answer yet: it is in flight, or its process died."""
NO_ANSWER = "no answer"
"""Outcome of a call that may have cost money but brought no answer: a timeout, or a broken connection."""
BAD_ANSWER = "bad_answer"
"""Outcome of a call whose answer was bad, where the reason has no code of its own."""
RETRY, AGAIN, FALLBACK = "retry", "again", "fallback"
"""Why a call was made that is not the first: an earlier attempt failed, its answer was bad, or the model before gave none."""
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


@dataclass(frozen=True)
class Rejected:
    """An answer that was paid for and rejected: why, and its text."""

    code: str
    raw: str


class Answers:
    """Verbs on cached answers, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock

    def get(self, key: str) -> str | None:
        """The answer cached under a key, if any."""
        found = sa.select(answers.c.body).where(answers.c.key == key)
        return self.connection.execute(found).scalar()

    def begin(self, key: str, asker: str, seconds: float, item: int = 0, lease_seconds: float = 0.0) -> bool:
        """Reserve this question for at most ``seconds``; False if it is already reserved or answered.

        So two workers with the same page pay for it once. A reservation of a worker that is no longer alive can be taken
        over at once, any other one after its time.
        """
        holder = sa.select(items.c.worker).where(items.c.id == item).scalar_subquery()
        new = self.clock.dialect.insert(answers).values(
            key=key, asked_by=asker, worker=holder, asked_until=self.clock.after(seconds)
        )
        # Not EXISTS: inside ON CONFLICT it would not refer to the conflicting row.
        alive = sa.select(workers.c.id).where(workers.c.seen_at > self.clock.before(lease_seconds))
        abandoned = sa.or_(
            answers.c.asked_until < self.clock.now,
            answers.c.asked_by == asker,
            sa.and_(answers.c.worker.is_not(None), answers.c.worker.not_in(alive)),
        )
        taken = {name: new.excluded[name] for name in ("asked_by", "worker", "asked_until")}
        again = new.on_conflict_do_update(
            index_elements=["key"], set_=taken, where=sa.and_(answers.c.body.is_(None), abandoned)
        )
        return self.connection.execute(again.returning(answers.c.key)).first() is not None

    def keep(self, key: str, body: str) -> None:
        """Store an answer, whoever reserved the question."""
        new = self.clock.dialect.insert(answers).values(key=key, body=body, answered_at=self.clock.now)
        kept = {"body": new.excluded.body, "answered_at": new.excluded.answered_at, "asked_by": None, "worker": None}
        self.connection.execute(new.on_conflict_do_update(index_elements=["key"], set_=kept))

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

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, rows: Sequence[Row]) -> bool:
        """Store calls of items; False if an item was deleted meanwhile. Its calls are skipped."""
        if not rows:
            return True
        batch = self.clock.dialect.unfolded(COLUMNS)
        chosen = sa.select(*batch.c, items.c.task, self.clock.now).join(items, items.c.id == batch.c.item)
        # A delete of the items waits for this lock, and then finds the calls.
        chosen = chosen.with_for_update(read=True, key_share=True, of=items)
        made = sa.insert(calls).from_select([*COLUMNS, "task", "at"], chosen).returning(calls.c.id)
        kept = self.connection.execute(made, {"rows": [_shortened(row) for row in rows]})
        return len(list(kept)) == len(rows)

    def own(self, ids: Sequence[int]) -> set[tuple[int, int]]:
        """Attempts of these items, as (item, lease), whose own spending is stored."""
        mine = sa.select(calls.c.item, calls.c.lease).where(calls.c.item.in_(ids), calls.c.provider == OWN)
        return {(row.item, row.lease) for row in self.connection.execute(mine)}

    def begin(self, row: Row) -> int | None:
        """Record a call before it is sent, so that it counts even if the process dies; None if its item is gone."""
        batch = self.clock.dialect.unfolded(COLUMNS)
        chosen = sa.select(*batch.c, items.c.task, self.clock.now).join(items, items.c.id == batch.c.item)
        chosen = chosen.with_for_update(read=True, key_share=True, of=items)
        made = sa.insert(calls).from_select([*COLUMNS, "task", "at"], chosen).returning(calls.c.id)
        noted = self.connection.execute(made, {"rows": [_shortened({**row, "outcome": ASKED, "seconds": 0.0})]})
        return noted.scalar()

    def settle(self, call: int, row: Row) -> bool:
        """Record the outcome of a call; False if its task was deleted meanwhile."""
        known = {name: value for name, value in _shortened(row).items() if name not in ("item", "lease")}
        done = sa.update(calls).where(calls.c.id == call).values(**known).returning(calls.c.id)
        return self.connection.execute(done).first() is not None

    def is_asked(self, call: int) -> bool:
        """Whether a call that was noted is not settled yet."""
        asked = sa.select(calls.c.id).where(calls.c.id == call, calls.c.outcome == ASKED)
        return self.connection.execute(asked).first() is not None

    def rejected(self, item: int, first_lease: int, key: str) -> Rejected | None:
        """The rejected answer to a question in an attempt with this lease or a later one, if any."""
        bad = sa.and_(calls.c.answer == key, calls.c.outcome.not_in(OUTCOMES))
        found = sa.select(calls.c.outcome, calls.c.raw).where(calls.c.item == item, calls.c.lease >= first_lease, bad)
        row = self.connection.execute(found.order_by(calls.c.id.desc()).limit(1)).first()
        return None if row is None else Rejected(row.outcome, row.raw or "")

    def reject(self, item: int, key: str, code: str, raw: str) -> None:
        """An answer that was taken turned out to be bad: it is paid, and not given to this item again."""
        mine = sa.and_(calls.c.item == item, calls.c.answer == key, calls.c.outcome == TAKEN)
        self.connection.execute(sa.update(calls).where(mine).values(outcome=code[:100], raw=raw))

    def withdraw(self, call: int) -> None:
        """Delete a call that never reached the service or was refused: it cost nothing."""
        self.connection.execute(sa.delete(calls).where(calls.c.id == call))

    def withdraw_repeated(self, call: int, item: int, key: str) -> None:
        """Forget the calls of an item without an answer that had the same idempotency key: the service took them for one."""
        unknown = sa.and_(calls.c.outcome.in_((ASKED, NO_ANSWER)), calls.c.answer == key, calls.c.id != call)
        self.connection.execute(sa.delete(calls).where(calls.c.item == item, unknown))

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
        paid = calls.c.outcome.not_in((CACHED, ASKED, NO_ANSWER))
        lost = is_lost()
        summed = sa.select(
            column.label("owner"),
            sa.func.sum(sa.case((paid, 1), else_=0)).label("calls"),
            sa.func.sum(sa.case((calls.c.outcome == CACHED, 1), else_=0)).label("cached"),
            sa.func.sum(sa.case((lost, 1), else_=0)).label("possibly_paid"),
            sa.func.sum(sa.case((sa.and_(paid, calls.c.cost.is_(None)), 1), else_=0)).label("unpriced"),
            sa.func.coalesce(sa.func.sum(calls.c.input_tokens), 0).label("input_tokens"),
            sa.func.coalesce(sa.func.sum(calls.c.output_tokens), 0).label("output_tokens"),
            sa.func.coalesce(sa.func.sum(calls.c.cost), 0.0).label("cost"),
            sa.func.max(calls.c.id).label("last"),
        ).where(column.in_(wanted))
        rows = list(self.connection.execute(summed.group_by(column)))
        named = sa.select(calls.c.id, calls.c.provider, calls.c.model).where(calls.c.id.in_([row.last for row in rows]))
        models = {row.id: f"{row.provider}:{row.model}" for row in self.connection.execute(named)}
        return {
            row.owner: Spending(
                int(row.calls),
                int(row.cached),
                int(row.unpriced),
                int(row.input_tokens),
                int(row.output_tokens),
                float(row.cost),
                models.get(row.last),
                int(row.possibly_paid),
            )
            for row in rows
        }


def is_lost() -> sa.ColumnElement[bool]:
    """A call may have been paid, and brought no answer; one whose attempt still runs is under way."""
    sender = sa.select(items.c.id).where(
        items.c.id == calls.c.item, items.c.lease == calls.c.lease, items.c.state == ItemState.RUNNING
    )
    return sa.or_(calls.c.outcome == NO_ANSWER, sa.and_(calls.c.outcome == ASKED, ~sender.exists()))


def _shortened(row: Row) -> dict[str, Any]:
    """A row with all columns, and names cut to the width of their column."""
    filled = {name: row.get(name) for name in COLUMNS}
    return filled | {"model": str(filled["model"])[:200], "outcome": str(filled["outcome"])[:100]}


ANY_CALL = sa.select(calls.c.id).where(calls.c.task == sa.bindparam("wanted")).limit(1)
