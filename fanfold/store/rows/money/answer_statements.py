"""The statements on cached answers that run for every question. They are built once: building takes longer than running."""

from __future__ import annotations

from functools import lru_cache

import sqlalchemy as sa

from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.tables import answers, items, workers

CACHED_ANSWER = sa.select(answers.c.body).where(answers.c.key == sa.bindparam("wanted"))


@lru_cache(maxsize=64)
def reserve_statement(clock: SqlClock) -> sa.Executable:
    """Reserve a question that is neither answered nor reserved, or whose reservation is over."""
    holder = sa.select(items.c.worker).where(items.c.id == sa.bindparam("of", type_=sa.BigInteger)).scalar_subquery()
    asker = sa.bindparam("asker", type_=sa.Text)
    until = clock.after(sa.bindparam("seconds", type_=sa.Float))
    new = clock.dialect.insert(answers).values(
        key=sa.bindparam("question", type_=sa.Text), asked_by=asker, worker=holder, asked_until=until
    )
    # Not EXISTS: inside ON CONFLICT it would not refer to the conflicting row.
    dead_before = clock.before(sa.bindparam("lease_seconds", type_=sa.Float))
    alive = sa.select(workers.c.id).where(workers.c.seen_at > dead_before)
    abandoned = sa.or_(
        answers.c.asked_until < clock.now,
        answers.c.asked_by == asker,
        sa.and_(answers.c.worker.is_not(None), answers.c.worker.not_in(alive)),
    )
    taken = {name: new.excluded[name] for name in ("asked_by", "worker", "asked_until")}
    again = new.on_conflict_do_update(
        index_elements=["key"], set_=taken, where=sa.and_(answers.c.body.is_(None), abandoned)
    )
    return again.returning(answers.c.key)


@lru_cache(maxsize=64)
def keep_statement(clock: SqlClock) -> sa.Executable:
    """Store an answer, and end the reservation of its question."""
    question, given = (sa.bindparam(name, type_=sa.Text) for name in ("question", "given"))
    new = clock.dialect.insert(answers).values(key=question, body=given, answered_at=clock.now)
    kept = {"body": new.excluded.body, "answered_at": new.excluded.answered_at, "asked_by": None, "worker": None}
    return new.on_conflict_do_update(index_elements=["key"], set_=kept)
