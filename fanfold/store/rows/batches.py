"""Verbs on batches at services: begun, held by a worker, looked at, ended."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from fanfold.model.batch import Batch, BatchState, MemberState
from fanfold.model.text.sentences import kept, restored
from fanfold.store.dialects.clock import Clock
from fanfold.store.rows.answers import TAKEN
from fanfold.store.rows.batched_questions import Group, MemberRow
from fanfold.store.schema.batch_tables import COLLECTED, OPEN_BATCH, SENT, batch_members, batches
from fanfold.store.schema.tables import calls, tasks, workers


@dataclass(frozen=True)
class BatchRow:
    """A batch as the store keeps it."""

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

    def shown(self) -> Batch:
        """The batch as people see it."""
        return Batch(
            self.name, self.provider, self.model, self.state, self.job, self.questions, self.tokens, self.answered,
            self.failed, self.created_at, self.ended_at, self.reason, self.cancel_at is not None,
        )  # fmt: skip


class Batches:
    """Verbs on batches, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock

    def is_anything_due(self) -> bool:
        """Whether questions wait for a batch, or a batch is to be looked at."""
        collected = sa.select(batch_members.c.id).where(COLLECTED).limit(1)
        due = sa.select(batches.c.id).where(OPEN_BATCH, batches.c.look_at <= self.clock.now).limit(1)
        return any(self.connection.execute(wanted).first() is not None for wanted in (collected, due))

    def tokens_in_air(self, provider: str, model: str) -> int:
        """Estimated input tokens of the open batches of a model."""
        same = sa.and_(OPEN_BATCH, batches.c.provider == provider, batches.c.model == model)
        return int(self.connection.execute(sa.select(sa.func.sum(batches.c.tokens)).where(same)).scalar() or 0)

    def smallest_refused(self, provider: str, model: str, code: str, seconds: float) -> int | None:
        """Estimated tokens of the smallest batch that a service refused for its size in the last ``seconds``."""
        same = sa.and_(batches.c.provider == provider, batches.c.model == model, batches.c.code == code)
        recent = sa.and_(same, batches.c.ended_at > self.clock.before(seconds))
        found = self.connection.execute(sa.select(sa.func.min(batches.c.tokens)).where(recent)).scalar()
        return None if found is None else int(found)

    def has_answered(self, provider: str, model: str, of_tasks: Collection[int]) -> bool:
        """Whether a model has given a good answer to each of these tasks."""
        good = sa.and_(calls.c.task.in_(of_tasks), calls.c.provider == provider, calls.c.model == model)
        found = sa.select(sa.func.count(calls.c.task.distinct())).where(good, calls.c.outcome == TAKEN)
        return self.connection.execute(found).scalar_one() >= len(of_tasks)

    def begin(self, name: str, group: Group, members: Sequence[MemberRow], worker: str, seconds: float) -> int | None:
        """Make a batch of questions, held by a worker; None when somebody else has taken one of them.

        From here on the questions count as sent: a crash before the service has them is found by the name.
        """
        made = sa.insert(batches).values(
            name=name, provider=group.provider, model=group.model, state=BatchState.SENDING.value,
            questions=len(members), tokens=sum(member.tokens for member in members), created_at=self.clock.now,
            look_at=self.clock.now, wanted_by=group.wanted_by, worker=worker, held_until=self.clock.after(seconds),
        )  # fmt: skip
        batch = int(self.connection.execute(made.returning(batches.c.id)).scalar_one())
        ids = [member.id for member in members]
        taken = sa.update(batch_members).where(batch_members.c.id.in_(ids), COLLECTED)
        sent = {"state": MemberState.SENT.value, "batch": batch, "tries": batch_members.c.tries + 1}
        return batch if self.connection.execute(taken.values(sent)).rowcount == len(ids) else None

    def due(self) -> list[BatchRow]:
        """Open batches to be looked at now, the oldest first."""
        found = sa.select(*BATCH).where(OPEN_BATCH, batches.c.look_at <= self.clock.now).order_by(batches.c.id)
        return [_batch(row) for row in self.connection.execute(found.limit(100))]

    def take(self, batch: int, worker: str, seconds: float, lease_seconds: float) -> BatchRow | None:
        """Hold a batch for some seconds; None while another living worker holds it, or when it is over."""
        alive = sa.select(workers.c.id).where(workers.c.seen_at > self.clock.before(lease_seconds))
        free = sa.or_(
            batches.c.worker.is_(None),
            batches.c.worker == worker,
            batches.c.held_until < self.clock.now,
            batches.c.worker.not_in(alive),
        )
        held = sa.update(batches).where(batches.c.id == batch, OPEN_BATCH, free)
        taken = held.values(worker=worker, held_until=self.clock.after(seconds)).returning(*BATCH)
        row = self.connection.execute(taken).first()
        return None if row is None else _batch(row)

    def change(self, batch: int, worker: str, *, seconds: float = 0.0, free: bool = True, **values: Any) -> bool:
        """Change a batch that the worker holds, to be looked at again in ``seconds``; False when it is no longer held."""
        if isinstance(values.get("reason"), str):
            values["reason_sentence"] = kept(values["reason"])
        if free:
            values |= {"worker": None, "held_until": None}
        mine = sa.update(batches).where(batches.c.id == batch, batches.c.worker == worker, OPEN_BATCH)
        changed = mine.values(look_at=self.clock.after(seconds), **values).returning(batches.c.id)
        return self.connection.execute(changed).first() is not None

    def note_intent(self, batch: int, worker: str) -> bool:
        """The service is about to be asked to create the batch: from now on it may exist there."""
        return self.change(batch, worker, free=False, intended_at=self.clock.now)

    def end(self, batch: int, worker: str, state: BatchState, **values: Any) -> bool:
        """A batch that the worker holds is over."""
        return self.change(batch, worker, state=state.value, ended_at=self.clock.now, **values)

    def jobs_known(self, provider: str) -> set[str]:
        """The service's ids of all batches that are known here."""
        found = sa.select(batches.c.job).where(batches.c.provider == provider, batches.c.job.is_not(None))
        return {str(job) for job in self.connection.execute(found).scalars()}

    def cancel_unwanted(self) -> None:
        """Open batches whose questions are all deleted, cancelled or past their deadline are to be cancelled at the service."""
        over = sa.or_(batch_members.c.wanted_by <= self.clock.now, tasks.c.state == "cancelled")
        wanted = sa.select(batch_members.c.id).join(tasks, tasks.c.number == batch_members.c.task)
        wanted = wanted.where(batch_members.c.batch == batches.c.id, SENT, sa.not_(sa.func.coalesce(over, sa.false())))
        nobody = sa.update(batches).where(OPEN_BATCH, batches.c.cancel_at.is_(None), ~wanted.exists())
        self.connection.execute(nobody.values(cancel_at=self.clock.now, look_at=self.clock.now))

    def page(self, task: int | None, owner: str | None, limit: int) -> list[BatchRow]:
        """The last batches, of one task or of the tasks of one owner if that is named, the newest first."""
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
