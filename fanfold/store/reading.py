"""What is there to see? Counts, ordered streams of results, and lists of items; nothing here writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from fanfold.model.lifecycle import ItemState
from fanfold.model.progress import Counts
from fanfold.store.clock import Clock
from fanfold.store.tables import ACTIVE, OPEN, TIMED, attempts, emissions, item_data, items
from fanfold.store.tables import tasks as task_table

PAGE = 500


@dataclass(frozen=True)
class ItemRow:
    """An item with its data, as kept."""

    id: int
    stage: str
    seq: int
    key: str
    state: str
    lease: int
    worker: str | None
    attempts: int
    failures: int
    crashes: int
    available_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    input: str | None
    output: str | None
    error_code: str | None
    error_message: str | None
    error_detail: str | None
    model: str | None
    usage: str | None
    progress: float
    message: str | None


class Reading:
    """Questions about items, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock

    def counts(self, tasks: Sequence[int]) -> dict[int, dict[str, Counts]]:
        """Per task and stage, how many items are in each state: one grouped query over one index."""
        grouped = sa.select(items.c.task, items.c.stage, items.c.state, sa.func.count()).where(items.c.task.in_(tasks))
        found: dict[int, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for task, stage, state, count in self.connection.execute(
            grouped.group_by(items.c.task, items.c.stage, items.c.state)
        ):
            found[task][stage][state] = count
        return {task: {stage: Counts(states) for stage, states in stages.items()} for task, stages in found.items()}

    def single(self, task: int, stage: str) -> tuple[float, str | None]:
        """How far the first running or latest item of a one-item stage says it is, and its message."""
        row = self.connection.execute(
            sa.select(item_data.c.progress, item_data.c.message)
            .join(items, items.c.id == item_data.c.item)
            .where(items.c.task == task, items.c.stage == stage)
            .order_by(items.c.seq)
            .limit(1)
        ).first()
        return (float(row.progress or 0.0), row.message) if row else (0.0, None)

    def retries(self, tasks: Sequence[int]) -> dict[int, int]:
        """Failures that were, or will be, tried again, per task."""
        summed = sa.select(attempts.c.task, sa.func.count()).where(
            attempts.c.task.in_(tasks), attempts.c.outcome == "retrying"
        )
        return {row[0]: row[1] for row in self.connection.execute(summed.group_by(attempts.c.task))}

    def next_due_at(self, task: int) -> datetime | None:
        """When the next timed item of a task is due."""
        due = sa.select(sa.func.min(items.c.available_at)).where(items.c.task == task, TIMED)
        return self.connection.execute(due).scalar()

    def trouble(self, task: int, stage: str) -> str | None:
        """Why the item that is tried again next has failed."""
        wanted = (
            sa.select(item_data.c.error_message)
            .join(items, items.c.id == item_data.c.item)
            .where(items.c.task == task, items.c.stage == stage, items.c.state == ItemState.RETRYING)
            .limit(1)
        )
        return self.connection.execute(wanted).scalar()

    def page(
        self,
        task: int,
        *,
        stage: str | None = None,
        states: Sequence[str] = (),
        after: int = 0,
        limit: int = PAGE,
        keys: Sequence[str] = (),
    ) -> list[ItemRow]:
        """Items with an id above ``after``, in order."""
        wanted = _items().where(items.c.task == task, items.c.id > after).order_by(items.c.id).limit(limit)
        if stage is not None:
            wanted = wanted.where(items.c.stage == stage)
        if states:
            wanted = wanted.where(items.c.state.in_(states))
        if keys:
            wanted = wanted.where(items.c.id.in_(self.ids(task, stage, keys)))
        return [_row(row) for row in self.connection.execute(wanted)]

    def results(self, task: int, stage: str, after: int, limit: int = PAGE) -> list[ItemRow]:
        """Settled items of a stage with a position above ``after``, in order."""
        wanted = (
            _items()
            .where(items.c.task == task, items.c.stage == stage, items.c.seq > after)
            .order_by(items.c.seq)
            .limit(limit)
        )
        return [_row(row) for row in self.connection.execute(wanted)]

    def ids(self, task: int, stage: str | None, keys: Sequence[str]) -> list[int]:
        """The items with these keys; an item without a key answers to its position."""
        positions = [int(key) for key in keys if key.isdecimal() and len(key) < 10]
        named = sa.or_(items.c.key.in_(keys), sa.and_(items.c.key.is_(None), items.c.seq.in_(positions)))
        wanted = sa.select(items.c.id).where(items.c.task == task, named)
        if stage is not None:
            wanted = wanted.where(items.c.stage == stage)
        return list(self.connection.execute(wanted).scalars())

    def emitted(self, task: int, after: tuple[int, int], limit: int = PAGE) -> list[tuple[int, int, str, str]]:
        """Streamed pieces behind ``after`` as (item, position, key, body), of the leases that count, in order."""
        rows = self.connection.execute(
            sa.select(items.c.id, emissions.c.position, items.c.key, items.c.seq, emissions.c.body)
            .join(items, sa.and_(items.c.id == emissions.c.item, items.c.lease == emissions.c.lease))
            .where(
                emissions.c.task == task,
                sa.or_(
                    emissions.c.item > after[0], sa.and_(emissions.c.item == after[0], emissions.c.position > after[1])
                ),
            )
            .order_by(emissions.c.item, emissions.c.position)
            .limit(limit)
        )
        return [(row.id, row.position, row.key or str(row.seq), row.body) for row in rows]

    def first_open(self, task: int, stage: str, after: int) -> tuple[int, int] | None:
        """(position, id) of the first item of the stage from position ``after`` on that is not settled."""
        probe = sa.select(items.c.seq, items.c.id).where(
            items.c.task == task, items.c.stage == stage, items.c.seq >= after, OPEN
        )
        row = self.connection.execute(probe.order_by(items.c.seq).limit(1)).first()
        return None if row is None else (row.seq, row.id)

    def open_counts(self) -> dict[str, int]:
        """Open items of active tasks per state, over the whole installation."""
        counted = sa.select(items.c.state, sa.func.count()).join(task_table, task_table.c.number == items.c.task)
        wanted = counted.where(OPEN, ACTIVE, task_table.c.stage == items.c.stage)
        return {row[0]: row[1] for row in self.connection.execute(wanted.group_by(items.c.state))}

    def failures(self, task: int) -> list[tuple[str, str, str, int]]:
        """Why items failed: (stage, code, message, how many), the most frequent first."""
        grouped = (
            sa.select(items.c.stage, item_data.c.error_code, item_data.c.error_message, sa.func.count().label("many"))
            .join(item_data, item_data.c.item == items.c.id)
            .where(items.c.task == task, items.c.state == ItemState.FAILED)
            .group_by(items.c.stage, item_data.c.error_code, item_data.c.error_message)
            .order_by(sa.desc("many"))
            .limit(20)
        )
        return [
            (row.stage, row.error_code or "error", row.error_message or "", row.many)
            for row in self.connection.execute(grouped)
        ]


def _items() -> sa.Select[Any]:
    data = [column for column in item_data.c if column.name not in ("item", "memory", "waiting_since")]
    return sa.select(items, *data).outerjoin(item_data, item_data.c.item == items.c.id)


def _row(row: sa.Row[Any]) -> ItemRow:
    return ItemRow(
        row.id,
        row.stage,
        row.seq,
        row.key or str(row.seq),
        row.state,
        row.lease,
        row.worker,
        row.attempts,
        row.failures,
        row.crashes,
        row.available_at,
        row.started_at,
        row.finished_at,
        row.input,
        row.output,
        row.error_code,
        row.error_message,
        row.error_detail,
        row.model,
        row.usage,
        float(row.progress or 0.0),
        row.message,
    )
