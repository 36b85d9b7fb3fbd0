"""Reads failed and lost attempts, and the reasons why items failed. Read-only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from fanfold.model.endings import Ending
from fanfold.model.item import Attempt
from fanfold.model.lifecycle import ItemState
from fanfold.model.text.sentences import restored
from fanfold.model.words import PATIENCE_SECONDS, Trouble
from fanfold.store.dialects.dialect import Dialect
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.large.drafts import counts_at, counts_in_group, counts_of
from fanfold.store.items.large.reset_queue import is_reset
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import DEGRADED, HELD, attempts, item_data, items

SHOWN = tuple(
    attempts.c[name]
    for name in (
        "lease",
        "worker",
        "outcome",
        "started_at",
        "ended_at",
        "error_code",
        "error_message",
        "error_detail",
        "model",
        "error_sentence",
    )
)
"""The columns of an attempt, in the order of ``Attempt``, then the sentence of its message."""


@lru_cache(maxsize=4)
def retries_statement(dialect: Dialect) -> sa.Select[Any]:
    """Count the failures of tasks that were or will be retried."""
    retried = attempts.c.outcome == Ending.BACK_OFF.outcome
    counted = sa.select(attempts.c.task, sa.func.count()).where(dialect.among(attempts.c.task), retried)
    return counted.group_by(attempts.c.task)


class FailedAttempts:
    """Queries about failures, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def retries(self, tasks: Sequence[int]) -> dict[int, int]:
        """Failures per task that were or will be retried."""
        return dict(run(self.connection, retries_statement(self.clock.dialect), {"ids": list(tasks)}))

    def shortfalls(self, task: int, limit: int) -> list[tuple[str, str, int]]:
        """(stage, reason, count) of the degraded items, the most frequent first."""
        sentence = sa.func.max(items.c.degraded_sentence)
        counted = sa.select(items.c.stage, items.c.degraded, sentence, sa.func.count())
        counted = counted.where(DEGRADED, items.c.task == task)
        grouped = counted.where(counts_of(task), ~is_reset()).group_by(items.c.stage, items.c.degraded)
        rows = self.connection.execute(grouped.order_by(sa.func.count().desc(), items.c.degraded).limit(limit))
        return [(stage, restored(reason, kept) or "", many) for stage, reason, kept, many in rows]

    def trouble(self, task: int, stage: str) -> Trouble | None:
        """Why the next item to be retried failed, and how long and for which service the task has been waiting."""
        data = item_data.c
        kept = (data.error_message, data.error_code, data.troubled_by, data.troubled_since, data.error_sentence)
        mine = (items.c.task == task, items.c.stage == stage, counts_at(task, stage), ~is_reset())
        joined = sa.select(*kept).join(items, items.c.id == item_data.c.item).where(*mine)
        retried = joined.where(items.c.state == ItemState.RETRYING)
        row = self.connection.execute(retried.order_by(items.c.available_at).limit(1)).first()
        message = None if row is None else restored(row.error_message, row.error_sentence)
        if row is None or row.troubled_since is None:
            return None if row is None else Trouble(message, row.error_code)
        fresh = sa.select(items.c.id).outerjoin(item_data, item_data.c.item == items.c.id)
        fresh = fresh.where(*mine, items.c.state == ItemState.RUNNING, item_data.c.troubled_since.is_(None)).limit(1)
        longest = retried.where(item_data.c.troubled_since <= self.clock.before(PATIENCE_SECONDS)).limit(1)
        stuck = self.connection.execute(longest).first()
        others_move = self.connection.execute(fresh).first() is not None
        stuck_since = None if stuck is None else stuck.troubled_since
        return Trouble(message, row.error_code, row.troubled_by, row.troubled_since, stuck_since, others_move)

    def held(self, tasks: Sequence[int]) -> dict[tuple[int, str], tuple[int, str | None]]:
        """Per (task, stage): how many items wait for a person, and the reason of one of them."""
        found = (
            sa.select(items.c.task, items.c.stage, sa.func.count(), sa.func.min(item_data.c.hold))
            .outerjoin(item_data, item_data.c.item == items.c.id)
            .where(HELD, items.c.task.in_(tasks), ~is_reset())
            .group_by(items.c.task, items.c.stage)
            .having(counts_in_group())
        )
        rows = self.connection.execute(found).all()
        return {(task, stage): (many, self._hold(task, stage, why)) for task, stage, many, why in rows}

    def _hold(self, task: int, stage: str, why: str | None) -> str | None:
        """The reason why items are held, with its code and parameters."""
        mine = sa.and_(HELD, items.c.task == task, items.c.stage == stage, item_data.c.hold == why)
        found = sa.select(item_data.c.hold_sentence).join(items, items.c.id == item_data.c.item).where(mine)
        return None if why is None else restored(why, self.connection.execute(found.limit(1)).scalar())

    def attempts(self, item: int, limit: int = 100) -> list[Attempt]:
        """The stored attempts of an item, in order."""
        kept = sa.select(*SHOWN).where(attempts.c.item == item).order_by(attempts.c.id.desc()).limit(limit)
        return [_attempt(row) for row in reversed(self.connection.execute(kept).all())]

    def lost_attempts(self, task: int, limit: int = 500) -> list[Attempt]:
        """The failed and lost attempts of a task, with stage and key, the latest first."""
        kept = (
            sa.select(items.c.stage, items.c.key, items.c.seq, *SHOWN)
            .join(items, items.c.id == attempts.c.item)
            .where(attempts.c.task == task, attempts.c.outcome != Ending.FINISH.outcome, counts_of(task))
            .order_by(attempts.c.id.desc())
            .limit(limit)
        )
        rows = self.connection.execute(kept)
        return [replace(_attempt(row[3:]), stage=row.stage, key=row.key or str(row.seq)) for row in rows]

    def failed_keys(self, task: int, stage: str, code: str, message: str, limit: int) -> list[str]:
        """The keys of the items of a stage that failed for exactly this reason, in order."""
        same = sa.and_(
            sa.func.coalesce(item_data.c.error_code, "error") == code,
            sa.func.coalesce(item_data.c.error_message, "") == message,
        )
        chosen = (
            sa.select(items.c.key, items.c.seq)
            .join(item_data, item_data.c.item == items.c.id)
            .where(items.c.task == task, items.c.stage == stage, items.c.state == ItemState.FAILED, same)
            .where(counts_at(task, stage), ~is_reset())
            .order_by(items.c.seq)
            .limit(limit)
        )
        return [row.key or str(row.seq) for row in self.connection.execute(chosen)]

    def failed_like(self, task: int, stage: str, code: str, limit: int) -> list[tuple[str, str]]:
        """(key, message) of the items of a stage that failed with a code, in order."""
        chosen = (
            sa.select(items.c.key, items.c.seq, item_data.c.error_message)
            .join(item_data, item_data.c.item == items.c.id)
            .where(items.c.task == task, items.c.stage == stage, items.c.state == ItemState.FAILED)
            .where(sa.func.coalesce(item_data.c.error_code, "error") == code, counts_at(task, stage), ~is_reset())
            .order_by(items.c.seq)
            .limit(limit)
        )
        return [(row.key or str(row.seq), row.error_message or "") for row in self.connection.execute(chosen)]

    def failed_items(self, task: int, limit: int) -> list[tuple[str, str, int]]:
        """(stage, code, number of failures) of failed items, at most ``limit``."""
        chosen = (
            sa.select(items.c.stage, item_data.c.error_code, items.c.failures)
            .join(item_data, item_data.c.item == items.c.id)
            .where(items.c.task == task, items.c.state == ItemState.FAILED, counts_of(task), ~is_reset())
            .limit(limit)
        )
        return [(row.stage, row.error_code or "error", row.failures) for row in self.connection.execute(chosen)]

    def failures(
        self, task: int, limit: int = 20, stage: str | None = None, *, hidden: bool = False
    ) -> list[tuple[str, str, str, int]]:
        """Why items failed, in one stage or in all: (stage, code, message, count), the most frequent first.

        With ``hidden``, items of drafts count too.
        """
        grouped = (
            sa.select(
                items.c.stage,
                item_data.c.error_code,
                item_data.c.error_message,
                sa.func.max(item_data.c.error_sentence).label("sentence"),
                sa.func.count().label("many"),
            )
            .join(item_data, item_data.c.item == items.c.id)
            .where(items.c.task == task, items.c.state == ItemState.FAILED, ~is_reset())
            .group_by(items.c.stage, item_data.c.error_code, item_data.c.error_message)
            .order_by(sa.desc("many"))
            .limit(limit)
        )
        if stage is not None:
            grouped = grouped.where(items.c.stage == stage)
        if not hidden:
            grouped = grouped.where(counts_of(task))
        return [
            (row.stage, row.error_code or "error", restored(row.error_message, row.sentence) or "", row.many)
            for row in self.connection.execute(grouped)
        ]


def _attempt(row: Sequence[Any]) -> Attempt:
    *known, sentence = row
    found = Attempt(*known)
    return replace(found, error_message=restored(found.error_message, sentence))
