"""What is there to see? Counts, ordered streams of results, and lists of items; nothing here writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
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
    options: str | None = None
    made_by: str | None = None
    previous: str | None = None
    previous_model: str | None = None


@dataclass(frozen=True)
class AttemptRow:
    """An attempt that failed, was lost, or cost money."""

    lease: int
    worker: str | None
    outcome: str
    started_at: datetime | None
    ended_at: datetime
    error_code: str | None
    error_message: str | None
    error_detail: str | None
    model: str | None


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

    def existing(self, ids: Collection[str]) -> set[str]:
        """Those of the ids that a task has."""
        return set(self.connection.execute(sa.select(task_table.c.id).where(task_table.c.id.in_(ids))).scalars())

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

    def attempts(self, item: int, limit: int = 100) -> list[AttemptRow]:
        """The attempts of an item that are kept, in order."""
        chosen = [attempts.c[name] for name in AttemptRow.__dataclass_fields__]
        kept = sa.select(*chosen).where(attempts.c.item == item).order_by(attempts.c.id.desc()).limit(limit)
        return [AttemptRow(*row) for row in reversed(self.connection.execute(kept).all())]

    def neighbours(self, task: int, stage: str, seq: int) -> tuple[str | None, str | None]:
        """The keys of the items before and after a position of a stage."""
        mine = sa.select(items.c.key, items.c.seq).where(items.c.task == task, items.c.stage == stage)
        before = self.connection.execute(mine.where(items.c.seq < seq).order_by(items.c.seq.desc()).limit(1)).first()
        after = self.connection.execute(mine.where(items.c.seq > seq).order_by(items.c.seq).limit(1)).first()
        return (before and (before.key or str(before.seq)), after and (after.key or str(after.seq)))

    def cells(self, task: int, stage: str, width: int = 1) -> list[tuple[int, str, int]]:
        """(position, state, how many): one for each item of a stage, or for each state in a run of ``width`` items, in order."""
        if width == 1:
            plain = sa.select(items.c.seq, items.c.state).where(items.c.task == task, items.c.stage == stage)
            return [(row.seq - 1, row.state, 1) for row in self.connection.execute(plain.order_by(items.c.seq))]
        run = ((items.c.seq - 1) // width).label("run")
        counted = sa.select(run, items.c.state, sa.func.count()).where(items.c.task == task, items.c.stage == stage)
        rows = self.connection.execute(counted.group_by(run, items.c.state).order_by(run))
        return [(int(position), state, count) for position, state, count in rows]

    def pace(self, task: int, seconds: float) -> list[tuple[int, str | None, str, int]]:
        """(span, worker, state, how many) of settled items: span 0 is the last ``seconds``, 1 the ones before it, and so on."""
        ago = sa.cast(sa.func.floor(self.clock.seconds_since(items.c.finished_at) / seconds), sa.Integer).label("ago")
        # Who made an output is kept with it; who failed, with the attempt.
        last = sa.and_(attempts.c.item == items.c.id, attempts.c.lease == items.c.lease)
        failed = items.c.state == ItemState.FAILED
        worker = sa.case((failed, attempts.c.worker), else_=item_data.c.made_by).label("settled_by")
        counted = (
            sa.select(ago, worker, items.c.state, sa.func.count())
            .outerjoin(item_data, item_data.c.item == items.c.id)
            .outerjoin(attempts, sa.and_(failed, last))
            .where(items.c.task == task, items.c.finished_at.is_not(None))
            .group_by(ago, worker, items.c.state)
        )
        return [(int(span), who, state, many) for span, who, state, many in self.connection.execute(counted)]

    def lost_attempts(self, task: int, limit: int = 500) -> list[tuple[str, str, AttemptRow]]:
        """(stage, key, attempt) of the attempts of a task that failed or were lost, the latest first."""
        chosen = [attempts.c[name] for name in AttemptRow.__dataclass_fields__]
        kept = (
            sa.select(items.c.stage, items.c.key, items.c.seq, *chosen)
            .join(items, items.c.id == attempts.c.item)
            .where(attempts.c.task == task, attempts.c.outcome != "done")
            .order_by(attempts.c.id.desc())
            .limit(limit)
        )
        rows = self.connection.execute(kept)
        return [(row.stage, row.key or str(row.seq), AttemptRow(*row[3:])) for row in rows]

    def failed_keys(self, task: int, stage: str, code: str, message: str, limit: int) -> list[str]:
        """The keys of the items of a stage that failed for this very reason, in order."""
        same = sa.and_(
            sa.func.coalesce(item_data.c.error_code, "error") == code,
            sa.func.coalesce(item_data.c.error_message, "") == message,
        )
        chosen = (
            sa.select(items.c.key, items.c.seq)
            .join(item_data, item_data.c.item == items.c.id)
            .where(items.c.task == task, items.c.stage == stage, items.c.state == ItemState.FAILED, same)
            .order_by(items.c.seq)
            .limit(limit)
        )
        return [row.key or str(row.seq) for row in self.connection.execute(chosen)]

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
        row.options,
        row.made_by,
        row.previous,
        row.previous_model,
    )
