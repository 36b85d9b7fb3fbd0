"""Verbs on batches at services: begin, hold, poll, end."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from fanfold.model.lifecycle import sources, targets
from fanfold.model.money.batch import BATCH_MOVES, OPEN_BATCHES, UNREGISTERED, Batch, BatchState, MemberState
from fanfold.model.text.sentences import kept, restored
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.rows.money.answers import ASKED, CACHED, NO_ANSWER
from fanfold.store.rows.money.batched_questions import MemberRow, QuestionGroup
from fanfold.store.schema.money.batch_tables import COLLECTED, OPEN_BATCH, SENT, batch_members, batches
from fanfold.store.schema.tables import calls, tasks, workers

AT_ONCE = 5_000
"""Most questions in one statement: databases limit the number of parameters, SQLite to 32,766."""


@dataclass(frozen=True)
class BatchRow:
    """A batch as stored."""

    id: int
    name: str
    provider: str
    model: str
    state: BatchState
    job: str | None
    questions: int
    tokens: int
    answered: int
    failed: int
    looks: int
    created_at: datetime
    intended_at: datetime | None
    ended_at: datetime | None
    wanted_by: datetime | None
    cancel_at: datetime | None
    reason: str | None
    read_at: datetime | None = None
    """When all results had been read and written."""

    def shown(self) -> Batch:
        """The public view of the batch."""
        return Batch(
            self.name, self.provider, self.model, self.state, self.job, self.questions, self.tokens, self.answered,
            self.failed, self.created_at, self.ended_at, self.reason, self.cancel_at is not None,
        )  # fmt: skip


class Batches:
    """Verbs on batches, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def is_anything_due(self) -> bool:
        """Whether questions wait for a batch or a batch must be polled."""
        collected = sa.select(batch_members.c.id).where(COLLECTED).limit(1)
        due = sa.select(batches.c.id).where(OPEN_BATCH, batches.c.look_at <= self.clock.now).limit(1)
        return any(self.connection.execute(wanted).first() is not None for wanted in (collected, due))

    def tokens_in_air(self, provider: str, model: str) -> int:
        """Estimated input tokens in the open batches of a model."""
        same = sa.and_(OPEN_BATCH, batches.c.provider == provider, batches.c.model == model)
        return int(self.connection.execute(sa.select(sa.func.sum(batches.c.tokens)).where(same)).scalar() or 0)

    def smallest_refused(self, provider: str, model: str, code: str, seconds: float) -> int | None:
        """Estimated tokens of the smallest batch that a service refused for its size within ``seconds``."""
        same = sa.and_(batches.c.provider == provider, batches.c.model == model, batches.c.code == code)
        recent = sa.and_(same, batches.c.ended_at > self.clock.before(seconds))
        found = self.connection.execute(sa.select(sa.func.min(batches.c.tokens)).where(recent)).scalar()
        return None if found is None else int(found)

    def has_tried(self, provider: str, model: str, of_tasks: Collection[int], *, unanswered: bool) -> bool:
        """Whether a model has answered, well or not, at least once for each of these tasks.

        With ``unanswered``, a call that ended without an answer counts as well.
        """
        mine = sa.and_(calls.c.task.in_(of_tasks), calls.c.provider == provider, calls.c.model == model)
        open_ones = [ASKED, CACHED, *(() if unanswered else (NO_ANSWER,))]
        found = sa.select(sa.func.count(calls.c.task.distinct())).where(mine, calls.c.outcome.not_in(open_ones))
        return self.connection.execute(found).scalar_one() >= len(of_tasks)

    def begin(
        self, name: str, group: QuestionGroup, members: Sequence[MemberRow], worker: str, seconds: float
    ) -> int | None:
        """Create a batch of questions, held by a worker; None if another worker has taken one of them.

        From here on the questions count as sent. After a crash, the batch's name shows whether the service has them.
        """
        made = sa.insert(batches).values(
            name=name, provider=group.provider, model=group.model, state=BatchState.SENDING.value,
            questions=len(members), tokens=sum(member.tokens for member in members), created_at=self.clock.now,
            look_at=self.clock.now, wanted_by=group.wanted_by, worker=worker, held_until=self.clock.after(seconds),
        )  # fmt: skip
        batch = int(self.connection.execute(made.returning(batches.c.id)).scalar_one())
        sent = {"state": MemberState.SENT.value, "batch": batch, "tries": batch_members.c.tries + 1}
        for start in range(0, len(members), AT_ONCE):
            some = [member.id for member in members[start : start + AT_ONCE]]
            taken = sa.update(batch_members).where(batch_members.c.id.in_(some), COLLECTED)
            if self.connection.execute(taken.values(sent)).rowcount != len(some):
                return None
        return batch

    def due(self) -> list[BatchRow]:
        """Open batches to be polled now, oldest first."""
        found = sa.select(*BATCH).where(OPEN_BATCH, batches.c.look_at <= self.clock.now).order_by(batches.c.id)
        return [_batch(row) for row in self.connection.execute(found.limit(100))]

    def take(self, batch: int, worker: str, seconds: float, lease_seconds: float) -> BatchRow | None:
        """Hold a batch for some seconds; None if another live worker holds it, or if it is over.

        An unregistered process has no heartbeat, so it keeps its batch for the full time.
        """
        alive = sa.select(workers.c.id).where(workers.c.seen_at > self.clock.before(lease_seconds))
        free = sa.or_(
            batches.c.worker.is_(None),
            batches.c.worker == worker,
            batches.c.held_until < self.clock.now,
            sa.and_(batches.c.worker.not_in(alive), ~batches.c.worker.startswith(UNREGISTERED)),
        )
        held = sa.update(batches).where(batches.c.id == batch, OPEN_BATCH, free)
        taken = held.values(worker=worker, held_until=self.clock.after(seconds)).returning(*BATCH)
        row = self.connection.execute(taken).first()
        return None if row is None else _batch(row)

    def change(
        self,
        batch: int,
        worker: str,
        *,
        seconds: float = 0.0,
        free: bool = True,
        from_states: Sequence[str] = OPEN_BATCHES,
        **values: Any,
    ) -> bool:
        """Change a batch that the worker holds, and poll it again in ``seconds``; False if the worker no longer holds it."""
        if isinstance(values.get("reason"), str):
            values["reason_sentence"] = kept(values["reason"])
        if free:
            values |= {"worker": None, "held_until": None}
        held = sa.and_(batches.c.worker == worker, batches.c.state.in_([str(state) for state in from_states]))
        mine = sa.update(batches).where(batches.c.id == batch, held)
        changed = mine.values(look_at=self.clock.after(seconds), **values).returning(batches.c.id)
        return self.connection.execute(changed).first() is not None

    def note_intent(self, batch: int, worker: str, questions: int) -> bool:
        """Record that the service is about to be asked to create a batch of this many questions: it may exist from now on."""
        return self.change(batch, worker, free=False, intended_at=self.clock.now, questions=questions)

    def note_read(self, batch: int, worker: str) -> bool:
        """Record that all results of a batch are written, so that the service may delete them."""
        return self.change(batch, worker, free=False, read_at=self.clock.now)

    def move(self, batch: int, worker: str, verb: str, **values: Any) -> bool:
        """Make a move of BATCH_MOVES; False if the worker no longer holds the batch, or its state does not allow the move."""
        [target] = targets(BATCH_MOVES, verb)
        if target not in OPEN_BATCHES:
            values["ended_at"] = self.clock.now
        return self.change(batch, worker, from_states=sources(BATCH_MOVES, verb), state=target, **values)

    def intended_seconds(self, batch: int) -> float:
        """Seconds since ``note_intent`` was last called for a batch, by the clock of the database."""
        seconds = self.clock.seconds_since(batches.c.intended_at)
        return float(self.connection.execute(sa.select(seconds).where(batches.c.id == batch)).scalar() or 0.0)

    def jobs_known(self, provider: str) -> set[str]:
        """The service's ids of all batches that we know at a provider."""
        found = sa.select(batches.c.job).where(batches.c.provider == provider, batches.c.job.is_not(None))
        return {str(job) for job in self.connection.execute(found).scalars()}

    def cancel_unwanted(self) -> None:
        """Mark an open batch for cancellation if all its questions are deleted, cancelled or past their deadline."""
        over = sa.or_(batch_members.c.wanted_by <= self.clock.now, tasks.c.state == "cancelled")
        wanted = sa.select(batch_members.c.id).join(tasks, tasks.c.number == batch_members.c.task)
        wanted = wanted.where(batch_members.c.batch == batches.c.id, SENT, sa.not_(sa.func.coalesce(over, sa.false())))
        nobody = sa.update(batches).where(OPEN_BATCH, batches.c.cancel_at.is_(None), ~wanted.exists())
        self.connection.execute(nobody.values(cancel_at=self.clock.now, look_at=self.clock.now))

    def page(self, task: int | None, owner: str | None, limit: int) -> list[BatchRow]:
        """The last batches, of one task or of one owner's tasks if given, newest first."""
        found = sa.select(*BATCH).order_by(batches.c.id.desc()).limit(limit)
        mine = sa.select(batch_members.c.id).where(batch_members.c.batch == batches.c.id)
        if task is not None:
            found = found.where(mine.where(batch_members.c.task == task).exists())
        elif owner is not None:
            of_owner = mine.join(tasks, tasks.c.number == batch_members.c.task).where(tasks.c.owner == owner)
            found = found.where(of_owner.exists())
        return [_batch(row) for row in self.connection.execute(found)]


BATCH = (*(batches.c[name] for name in BatchRow.__dataclass_fields__), batches.c.reason_sentence)


def _batch(row: Any) -> BatchRow:
    known = {name: getattr(row, name) for name in BatchRow.__dataclass_fields__}
    reason = restored(row.reason, row.reason_sentence)
    return BatchRow(**{**known, "state": BatchState(row.state), "reason": reason})
