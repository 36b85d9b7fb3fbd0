"""Builds the public view of tasks from rows, counts, texts and commands; many tasks with few queries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fanfold.engine.tasks.moving.advance import unfinished_stage
from fanfold.model.item import HELD_FROM, Item
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.money.batch import NONE_BATCHED, LaneCounts
from fanfold.model.money.questions import NOTHING_SPENT, Spending
from fanfold.model.pipelines.gates import asked_by, must_be_answered
from fanfold.model.pipelines.options import schema
from fanfold.model.plan import Kind, Plan
from fanfold.model.progress import Counts, percent
from fanfold.model.task import StageView, Task, TaskRow
from fanfold.model.text.sentences import Sentence, say
from fanfold.model.values import serial
from fanfold.model.words import Facts, available_commands, needs_you, phase, state_word, wait_reason
from fanfold.store.items.count import Marks
from fanfold.store.items.query import ItemRow
from fanfold.store.rows.unstopped import UnstoppedRow
from fanfold.store.store import Store, Transaction

NAMED_WORKERS = 3
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Held = Mapping[tuple[int, str], tuple[int, str | None]]
"""Per (task, stage): how many items wait for a person, and why."""


@dataclass(frozen=True)
class TaskFigures:
    """Data about some tasks besides their rows, queried for all of them at once."""

    counts: Mapping[int, Mapping[str, Counts]]
    retries: Mapping[int, int]
    held: Held
    spending: Mapping[int, Spending]
    marks: Mapping[int, Marks]
    batched: Mapping[int, LaneCounts]
    served: Collection[tuple[str, str]]
    """The (pipeline, stage) pairs that a live worker serves."""
    read_only: bool
    """Whether the database refuses writes, which may be why nobody serves a task."""
    unstopped: Mapping[int, Sequence[UnstoppedRow]]
    """Handlers that were told to stop and run on, by task."""
    subtasks: Mapping[int, dict[str, int]]
    """How many subtasks, by state."""
    awaited: Mapping[int, tuple[int, str]]
    """How many unfinished subtasks items wait for, and the id of one."""
    origins: Mapping[int, tuple[str, str | None, str | None]]
    """Of subtasks: the id of the parent, and the stage and key of the item that submitted them."""
    started: Mapping[int, datetime | None]
    """When tasks that are still in their first stage started."""
    single: Mapping[int, tuple[float, str | None]]
    """Progress and message of the item of tasks whose current stage has only one."""


def view(store: Store, tx: Transaction, rows: Sequence[TaskRow]) -> list[Task]:
    """The tasks as people see them."""
    known = _known(store, tx, rows)
    return [_task(tx, row, known) for row in rows]


def _known(store: Store, tx: Transaction, rows: Sequence[TaskRow]) -> TaskFigures:
    numbers = [row.number for row in rows]
    counts = tx.counting.counts(numbers)
    timed = [row.number for row in rows if counts.get(row.number, {}).get(row.stage, Counts())[ItemState.WAITING]]
    # Only done items can be degraded, so a new task needs no query.
    worked = [number for number in numbers if any(here[ItemState.DONE] for here in counts.get(number, {}).values())]
    served = {pair for worker in tx.workers.all(store.settings.lease_seconds) if worker.alive for pair in worker.serves}
    unserved = any(row.state is TaskState.ACTIVE and (row.pipeline, row.stage) not in served for row in rows)
    return TaskFigures(
        counts=counts,
        retries=tx.reading.retries(numbers),
        held=tx.reading.held(timed) if timed else {},
        spending=tx.calls.of_tasks(numbers),
        marks=tx.counting.marks(worked),
        batched=tx.batched.counts(timed) if timed else {},
        served=served,
        read_only=unserved and tx.is_read_only(),
        unstopped=_unstopped(store, tx, numbers) if served else {},
        subtasks=tx.subtasks.counts(numbers),
        awaited=tx.subtasks.awaited(timed) if timed else {},
        origins=tx.subtasks.origins(children) if (children := [row.number for row in rows if row.parent]) else {},
        started=_started(tx, rows),
        single=_single(tx, rows, counts),
    )


def _started(tx: Transaction, rows: Sequence[TaskRow]) -> dict[int, datetime | None]:
    firsts: dict[str, list[int]] = {}
    for row in rows:
        if row.started_at is None:
            firsts.setdefault(row.plan.stages[0].name, []).append(row.number)
    return {task: at for stage, tasks in firsts.items() for task, at in tx.items.first_started(tasks, stage).items()}


def _single(
    tx: Transaction, rows: Sequence[TaskRow], counts: Mapping[int, Mapping[str, Counts]]
) -> dict[int, tuple[float, str | None]]:
    alone: dict[str, list[int]] = {}
    for row in rows:
        if row.state is TaskState.ACTIVE and counts.get(row.number, {}).get(row.stage, Counts()).total == 1:
            alone.setdefault(row.stage, []).append(row.number)
    return {task: one for stage, tasks in alone.items() for task, one in tx.reading.single(tasks, stage).items()}


def _unstopped(store: Store, tx: Transaction, numbers: Sequence[int]) -> Mapping[int, Sequence[UnstoppedRow]]:
    found: dict[int, list[UnstoppedRow]] = {}
    for row in tx.unstopped.of_tasks(numbers, store.settings.lease_seconds):
        found.setdefault(row.task, []).append(row)
    return found


def _still_running(handlers: Sequence[UnstoppedRow]) -> Sentence | None:
    """A sentence about handlers that cannot be stopped; None if there are none."""
    if not handlers:
        return None
    workers = sorted({row.worker for row in handlers})
    said = workers if len(workers) <= NAMED_WORKERS else [*workers[:NAMED_WORKERS], "…"]
    return say("handlers_run_on", count=len(handlers), workers=said)


def held_of(row: TaskRow, held: Held) -> tuple[int, str | None]:
    """How many items of a task's current stage wait for a person, and why."""
    unfinished = row.state in (TaskState.ACTIVE, TaskState.PAUSED)
    return held.get((row.number, row.stage), (0, None)) if unfinished else (0, None)


def _task(tx: Transaction, row: TaskRow, known: TaskFigures) -> Task:
    stages = known.counts.get(row.number, {})
    here, message = stages.get(row.stage, Counts()), None
    if row.number in known.single:
        share, message = known.single[row.number]
        here = replace(here, share=share)
    held = held_of(row, known.held)
    marks = known.marks.get(row.number, Marks())
    facts = _facts(tx, row, stages, here, held, marks, known)
    standing = unfinished_stage(row, stages) if row.ending else row.stage
    counted = counted_stage(row.plan, row.stage, stages)
    shown = stages.get(counted, Counts())
    origin = known.origins.get(row.number, (None, None, None))
    return Task(
        **{name: getattr(row, name) for name in STORED},
        **_words(facts),
        stages=tuple(_stage(stage.name, stage.kind, stages) for stage in row.plan.stages),
        progress=percent(row.plan, row.state, standing, stages.get(standing, here) if row.ending else here),
        message=message,
        total=shown.total,
        done=shown[ItemState.DONE],
        failed=shown[ItemState.FAILED],
        open=shown.total - shown.settled,
        options=serial.load(row.options) or {},
        metadata=serial.load(row.extra) or {},
        inputs=tuple(serial.load(row.input) or ()),
        retries=known.retries.get(row.number, 0),
        started_at=row.started_at or known.started.get(row.number),
        held=held[0],
        batched=known.batched.get(row.number, NONE_BATCHED),
        still_running=_still_running(known.unstopped.get(row.number, ())),
        degraded=marks.degraded,
        accepted=marks.accepted,
        item_words=row.plan.words_of_items(row.stage),
        cursor=cursor_of(row),
        counted=counted,
        spending=known.spending.get(row.number, NOTHING_SPENT),
        subtasks=known.subtasks.get(row.number, {}),
        parent=origin[0],
        parent_stage=origin[1],
        parent_item=origin[2],
        asks=_asks(row),
    )


def _asks(row: TaskRow) -> dict[str, Any] | None:
    """What a person is asked at the gate where the task waits."""
    stage = row.plan.stage(row.stage)
    if row.state is not TaskState.WAITING or not stage.needs_answer:
        return None
    return schema(asked_by(stage.asks)) | {"required": must_be_answered(stage.asks)}


STORED = (
    "id", "pipeline", "title", "state", "stage", "owner", "priority", "tags", "key", "retry_limit", "error_code", "error_message",
    "missing", "created_at", "updated_at", "finished_at", "start_at",
)  # fmt: skip
"""Columns of a task's row that the public view shows unchanged."""


def _facts(
    tx: Transaction,
    row: TaskRow,
    stages: Mapping[str, Counts],
    here: Counts,
    held: tuple[int, str | None],
    marks: Marks,
    known: TaskFigures,
) -> Facts:
    """The facts from which a task's texts and commands are derived."""
    settled = [stages.get(stage.name, Counts()) for stage in row.plan.stages]
    due = tx.reading.next_due_at(row.number) if here[ItemState.RETRYING] or here[ItemState.WAITING] else None
    trouble = tx.reading.trouble(row.number, row.stage) if here[ItemState.RETRYING] else None
    is_merge = row.plan.stage(row.stage).kind is Kind.MERGE
    gathers = is_merge and here[ItemState.WAITING] > 0 and tx.decisions.is_gathering(row.number, row.stage)
    return Facts(
        row.state,
        row.stage,
        row.plan,
        here,
        row.ending,
        row.reason,
        sum(counts[ItemState.FAILED] for counts in settled),
        due,
        (row.pipeline, row.stage) in known.served,
        trouble,
        *held,
        tx.time() if trouble or due or row.start_at else None,
        marks.degraded,
        known.read_only,
        sum(counts[ItemState.DONE] for counts in settled),
        marks.accepted,
        gathers,
        known.batched.get(row.number, NONE_BATCHED),
        row.start_at,
        known.awaited.get(row.number, (0, "")),
    )


def _words(facts: Facts) -> dict[str, Any]:
    """A task's status text, what it waits for, and the possible commands."""
    word = state_word(facts)
    return {
        "status": word,
        "word": word,
        "phase": phase(facts),
        "wait_reason": wait_reason(facts),
        "available_commands": available_commands(facts),
        "needs_you": needs_you(facts),
    }


def cursor_of(row: TaskRow) -> str:
    """A task's position in the list, by number and by time of change. Its id is random, so useless once the task is gone."""
    return f"{row.id}.{(row.updated_at - EPOCH) // timedelta(microseconds=1)}.{row.number}"


def number_in(cursor: str) -> int | None:
    """The number in a cursor; None if it is just an id."""
    _, dot, number = cursor.rpartition(".")
    return int(number) if dot and number.isascii() and number.isdigit() and len(number) < 19 else None


def updated_at_in(cursor: str) -> datetime | None:
    """The update time in a cursor; None for an id, and for a cursor of an earlier version."""
    microseconds = cursor.split(".")[-2] if cursor.count(".") == 2 else ""
    is_number = microseconds.isascii() and microseconds.isdigit() and len(microseconds) < 18
    return EPOCH + timedelta(microseconds=int(microseconds)) if is_number else None


def counted_stage(plan: Plan, stage: str, stages: Mapping[str, Counts]) -> str:
    """The stage whose items people count: the current or last `each` stage; otherwise the current stage."""
    standing = plan.stage(stage)
    if standing.kind is Kind.EACH:
        return stage
    before = plan.last_each(stage) or next((found for found in reversed(plan.stages) if found.kind is Kind.EACH), None)
    return before.name if before is not None and before.name in stages else stage


def _stage(name: str, kind: str, stages: Mapping[str, Counts]) -> StageView:
    counts = stages.get(name, Counts())
    return StageView(name, str(kind), counts.total, dict(counts.by_state))


def item_view(store: Store, plan: Plan, row: ItemRow, spending: Spending) -> Item:
    """An item as people see it."""
    return Item(
        key=row.key,
        stage=row.stage,
        seq=row.seq,
        state=ItemState(row.state),
        attempts=row.attempts,
        failures=row.failures,
        crashes=row.crashes,
        worker=row.worker,
        available_at=row.available_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        progress=row.progress,
        message=row.message,
        error_code=row.error_code,
        error_message=row.error_message,
        model=row.model,
        usage=store.unfold(row.usage),
        spending=spending,
        degraded=row.degraded,
        accepted=row.degraded is not None and row.accepted == row.lease,
        word=plan.item_word(row.stage, row.state),
        held=(row.hold or say("no_reason_kept")) if row.available_at and row.available_at >= HELD_FROM else None,
    )
