"""How does a task look to people? Its row, counts, words and commands put together, many tasks with few queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fanfold.engine.tasks.advance import unfinished_stage
from fanfold.model import serial
from fanfold.model.asking import NOTHING_SPENT, Spending
from fanfold.model.item import HELD_FROM, Item
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.plan import Kind, Plan
from fanfold.model.progress import Counts, percent
from fanfold.model.task import StageView, Task, TaskRow
from fanfold.model.words import Facts, available_commands, needs_you, phase, state_word, wait_reason
from fanfold.store.items.query import ItemRow, Marks
from fanfold.store.store import Store, Transaction


def view(store: Store, tx: Transaction, rows: Sequence[TaskRow]) -> list[Task]:
    """The tasks as people see them."""
    numbers = [row.number for row in rows]
    counts = tx.reading.counts(numbers)
    retries = tx.reading.retries(numbers)
    timed = [row.number for row in rows if counts.get(row.number, {}).get(row.stage, Counts())[ItemState.WAITING]]
    held = tx.reading.held(timed) if timed else {}
    spent = tx.calls.of_tasks(numbers)
    # Only what is done can be degraded: a task that begins costs no look.
    worked = [number for number in numbers if any(here[ItemState.DONE] for here in counts.get(number, {}).values())]
    marks = tx.reading.marks(worked)
    served = {pair for worker in tx.workers.all(store.settings.lease_seconds) if worker.alive for pair in worker.serves}
    unserved = any(row.state is TaskState.ACTIVE and (row.pipeline, row.stage) not in served for row in rows)
    read_only = unserved and tx.is_read_only()
    return [
        replace(
            _task(
                tx,
                row,
                counts.get(row.number, {}),
                retries.get(row.number, 0),
                (row.pipeline, row.stage) in served,
                held_of(row, held),
                marks.get(row.number, Marks()),
                read_only,
            ),
            spending=spent.get(row.number, NOTHING_SPENT),
        )
        for row in rows
    ]


Held = Mapping[tuple[int, str], tuple[int, str | None]]


def held_of(row: TaskRow, held: Held) -> tuple[int, str | None]:
    """How many items of the stage that a task is in wait for a person, and why."""
    unfinished = row.state in (TaskState.ACTIVE, TaskState.PAUSED)
    return held.get((row.number, row.stage), (0, None)) if unfinished else (0, None)


def _task(
    tx: Transaction,
    row: TaskRow,
    stages: Mapping[str, Counts],
    retries: int,
    served: bool,
    held: tuple[int, str | None],
    marks: Marks,
    read_only: bool,
) -> Task:
    here = stages.get(row.stage, Counts())
    message = None
    if here.total == 1 and row.state is TaskState.ACTIVE:
        share, message = tx.reading.single(row.number, row.stage)
        here = replace(here, share=share)
    failed = sum(stages.get(stage.name, Counts())[ItemState.FAILED] for stage in row.plan.stages)
    done = sum(stages.get(stage.name, Counts())[ItemState.DONE] for stage in row.plan.stages)
    due = tx.reading.next_due_at(row.number) if here[ItemState.RETRYING] or here[ItemState.WAITING] else None
    trouble = tx.reading.trouble(row.number, row.stage) if here[ItemState.RETRYING] else None
    standing = unfinished_stage(row, stages) if row.ending else row.stage
    now = tx.time() if trouble or due else None
    facts = Facts(
        row.state,
        row.stage,
        row.plan,
        here,
        row.ending,
        row.reason,
        failed,
        due,
        served,
        trouble,
        *held,
        now,
        marks.degraded,
        read_only,
        done,
        marks.accepted,
    )
    word = state_word(facts)
    shown = stages.get(counted_stage(row.plan, row.stage, stages), Counts())
    return Task(
        id=row.id,
        pipeline=row.pipeline,
        title=row.title,
        state=row.state,
        status=word,
        stage=row.stage,
        stages=tuple(_stage(stage.name, stage.kind, stages) for stage in row.plan.stages),
        progress=percent(row.plan, row.state, standing, stages.get(standing, here) if row.ending else here),
        message=message,
        total=shown.total,
        done=shown[ItemState.DONE],
        failed=shown[ItemState.FAILED],
        open=shown.total - shown.settled,
        options=serial.load(row.options) or {},
        metadata=serial.load(row.extra) or {},
        owner=row.owner,
        priority=row.priority,
        tags=row.tags,
        key=row.key,
        retries=retries,
        retry_limit=row.retry_limit,
        wait_reason=wait_reason(facts),
        available_commands=available_commands(facts),
        error_code=row.error_code,
        error_message=row.error_message,
        missing=row.missing,
        created_at=row.created_at,
        updated_at=row.updated_at,
        started_at=row.started_at or tx.items.first_started_at(row.number, row.plan.stages[0].name),
        finished_at=row.finished_at,
        inputs=tuple(serial.load(row.input) or ()),
        held=held[0],
        needs_you=needs_you(facts),
        degraded=marks.degraded,
        accepted=marks.accepted,
        word=word,
        phase=phase(facts),
        item_words=dict(row.plan.item_words),
        cursor=cursor_of(row),
    )


def cursor_of(row: TaskRow) -> str:
    """A task's place in the list, which is by number. Its id is random, and says nothing once the task is gone."""
    return f"{row.id}.{row.number}"


def number_in(cursor: str) -> int | None:
    """The number in a cursor; None for an id alone."""
    _, dot, number = cursor.rpartition(".")
    return int(number) if dot and number.isascii() and number.isdigit() and len(number) < 19 else None


def counted_stage(plan: Plan, stage: str, stages: Mapping[str, Counts]) -> str:
    """The stage whose items people count: the `each` stage a task is in, or came through last; else the one it is in."""
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
        word=dict(plan.item_words).get(row.state, row.state),
        held=(row.hold or "no reason was kept") if row.available_at and row.available_at >= HELD_FROM else None,
    )
