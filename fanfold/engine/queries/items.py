"""What is inside a task? One item with all that is kept of it, the grid of its items, its timeline and its files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from fanfold.engine.queries.views import counted_stage, item_view, view
from fanfold.errors import BadInput, NotFound
from fanfold.model import serial
from fanfold.model.asking import NOTHING_SPENT
from fanfold.model.external import ExternalJob
from fanfold.model.files import File
from fanfold.model.item import REDONE, Item, ItemDetail
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.task import Cells, Event, Lane, StageSpan, Task, TaskRow, Timeline
from fanfold.model.texts import is_storable, shown
from fanfold.store.items.query import ItemRow
from fanfold.store.store import Store, Transaction

CELLS = 20_000
"""Stages with more items are shown in runs."""
LETTERS = {
    ItemState.PENDING: "p",
    ItemState.RUNNING: "r",
    ItemState.RETRYING: "t",
    ItemState.WAITING: "w",
    ItemState.DONE: "d",
    ItemState.FAILED: "f",
}
DEGRADED_LETTER = "g"
"""Done, but not as it was asked for."""
URGENCY = "frtwpgd"
"""A run of items shows the state that a person would want to know of first."""
SPANS = 96
"""So many columns has a timeline."""
RETRIED_AT_ONCE = 10_000


class Details:
    """Questions about one task; an owner, where there is one, restricts them to the tasks of that owner."""

    def __init__(self, store: Store, owner: str | None = None) -> None:
        self.store = store
        self.owner = owner

    def item(self, task_id: str, key: str, stage: str | None = None) -> ItemDetail:
        """An item with its input, output, errors, attempts and neighbours."""
        row = self._row(task_id)
        with self.store.read() as tx:
            found = self._item(tx, row, key, stage)
            tried = tx.reading.attempts(found.id)
            spent = tx.calls.of_items([found.id]).get(found.id, NOTHING_SPENT)
            near = tx.reading.neighbours(row.number, found.stage, found.seq)
        return ItemDetail(
            item=item_view(self.store, row.plan, found, spent),
            input=self.store.unfold(found.input),
            output=self.store.unfold(found.output),
            options={name: value for name, value in (serial.load(found.options) or {}).items() if name != REDONE},
            previous=self._previous(found),
            previous_model=found.previous_model,
            made_by=found.made_by,
            error_detail=found.error_detail,
            attempts=tuple(tried),
            before=near[0],
            after=near[1],
        )

    def items_from(self, task_id: str, stage: str, position: int, limit: int = 1) -> list[Item]:
        """The items of a stage from a position on, counted from 0."""
        row = self._row(task_id)
        row.plan.stage(stage)
        with self.store.read() as tx:
            rows = tx.reading.results(row.number, stage, position, limit, bodies=False)
        return [item_view(self.store, row.plan, found, NOTHING_SPENT) for found in rows]

    def makers(self, task_id: str) -> dict[str, int]:
        """Who made the outputs of the items that people count, and how many each: models, or what stood in for them."""
        row = self._row(task_id)
        with self.store.read() as tx:
            return tx.reading.makers(row.number, chosen_stage(tx, row, None))

    def shortfalls(self, task_id: str, limit: int = 20) -> list[tuple[str, str, int]]:
        """Why items are not what was asked for, grouped: (stage, reason, how many), the most frequent first."""
        row = self._row(task_id)
        with self.store.read() as tx:
            return tx.reading.shortfalls(row.number, limit)

    def failed_like(self, task_id: str, stage: str, code: str) -> list[tuple[str, str]]:
        """(key, message) of the items of a stage that failed with a code."""
        row = self._row(task_id)
        with self.store.read() as tx:
            return tx.reading.failed_like(row.number, stage, code, RETRIED_AT_ONCE)

    def keys_at(self, task_id: str, stage: str, positions: Collection[int], states: Sequence[str]) -> list[str]:
        """The keys of the items at these positions, counted from 0, that are in one of the states, in order."""
        row = self._row(task_id)
        row.plan.stage(stage)
        with self.store.read() as tx:
            return tx.reading.keys_at(row.number, stage, [at + 1 for at in sorted(set(positions))], states)

    def cells(self, task_id: str, stage: str | None = None, *, most: int = CELLS) -> Cells:
        """The states of all items of a stage, by default of the one people count."""
        row = self._row(task_id)
        with self.store.read() as tx:
            return cells_of(tx, row, stage, most)

    def timeline(self, task_id: str) -> Timeline:
        """How it went, in at most 96 spans of time."""
        row = self._row(task_id)
        with self.store.read() as tx:
            now = tx.time()
            moves = tx.events.stages_of(row.number)
            started, ended = lifetime(row, moves, now)
            seconds = max(1.0, ceil((ended - started).total_seconds() / SPANS))
            settled = tx.reading.pace(row.number, seconds)
            tried = tx.reading.lost_attempts(row.number)
        return Timeline(
            started_at=started,
            ended_at=ended,
            seconds_per_span=seconds,
            stages=spans(moves, row),
            lanes=lanes(settled, seconds, started, ended, now),
            attempts=tuple(tried),
        )

    def stages(self, task_id: str) -> tuple[StageSpan, ...]:
        """The stages a task was in, and when: what its timeline has of them."""
        row = self._row(task_id)
        with self.store.read() as tx:
            moves = tx.events.stages_of(row.number)
            return spans(moves, row)

    def latest_events(self, task_id: str, before: int | None = None, limit: int = 100) -> list[Event]:
        """The last things that happened to a task, the newest first; ``before`` is the id of the last one seen."""
        row = self._row(task_id)
        with self.store.read() as tx:
            return tx.events.latest_of(row.number, before, limit)

    def changed_since(self, event_id: int, limit: int = 200) -> list[Task]:
        """The tasks that something has happened to since this event, as they are now: those it happened to last."""
        with self.store.read() as tx:
            return view(self.store, tx, tx.tasks.by_ids(tx.events.changed(event_id, self.owner, limit)))

    def failed_keys(self, task_id: str, stage: str, code: str, message: str, limit: int = RETRIED_AT_ONCE) -> list[str]:
        """The keys of the first items that failed for this very reason: one line of ``failures``."""
        row = self._row(task_id)
        with self.store.read() as tx:
            return tx.reading.failed_keys(row.number, stage, code, message, limit)

    def external_jobs(self, task_id: str) -> list[ExternalJob]:
        """The external jobs of a task, in the order of their items."""
        row = self._row(task_id)
        with self.store.read() as tx:
            return [job for _, job in tx.externals.of_task(row.number, self.store.settings.lease_seconds)]

    def file(self, task_id: str, name: str) -> File:
        """A file of the task by the last part of its key; only what the database says is the task's is ever opened."""
        row = self._row(task_id)
        key = f"{row.id}/{name}"
        with self.store.read() as tx:
            found = tx.blobs.find(row.number, key) if is_storable(key) else None
        if found is None:
            raise NotFound(f"Task {row.id} has no file {name[:200]}.")
        return self.store.bind(File(key, *found))

    def by_key(self, key: str, owner: str | None = None) -> Task | None:
        """The task that was submitted with this idempotency key."""
        with self.store.read() as tx:
            row = tx.tasks.by_key(self.owner if self.owner is not None else (owner or ""), key)
            return None if row is None else view(self.store, tx, [row])[0]

    def _row(self, task_id: str) -> TaskRow:
        if not isinstance(task_id, str):
            raise BadInput(f"The id of a task must be text, not {shown(task_id)}.")
        with self.store.read() as tx:
            return tx.tasks.resolve(task_id, self.owner)

    def _item(self, tx: Transaction, row: TaskRow, key: str, stage: str | None) -> ItemRow:
        name = chosen_stage(tx, row, stage)
        rows = tx.reading.page(row.number, stage=name, keys=[key], limit=1)
        if not rows:
            raise no_item(row, key, name)
        return rows[0]

    def _previous(self, found: ItemRow) -> Any:
        """The output before this one; a large one lies in a file that may have been swept away meanwhile."""
        try:
            return self.store.unfold(found.previous)
        except FileNotFoundError:
            return None


def chosen_stage(tx: Transaction, row: TaskRow, stage: str | None) -> str:
    """The stage of that name, or else the one people count."""
    if stage:
        return row.plan.stage(stage).name
    return counted_stage(row.plan, row.stage, tx.reading.counts([row.number]).get(row.number, {}))


def no_item(row: TaskRow, key: str, stage: str) -> NotFound:
    """The error that says so, and where to look."""
    return NotFound(f"Task {row.id} has no item {key[:200]} in {stage}. To see them: fanfold items {row.id}")


def cells_of(tx: Transaction, row: TaskRow, stage: str | None = None, most: int = CELLS) -> Cells:
    """The states of the items of a stage as letters."""
    counts = tx.reading.counts([row.number]).get(row.number, {})
    name = stage or counted_stage(row.plan, row.stage, counts)
    row.plan.stage(name)
    width = max(1, ceil(counts[name].total / most)) if name in counts else 1
    found = tx.reading.cells(row.number, name, width)
    # Counted anew: items may have come since the counts were read.
    total = sum(many for _, _, many in found)
    letters = ["d"] * ceil(total / width)
    for position, state, _ in found:
        letter = LETTERS[ItemState(state)]
        if width == 1 or URGENCY.index(letter) < URGENCY.index(letters[position]):
            letters[position] = letter
    for position in tx.reading.degraded_at(row.number, name, width) if "d" in letters else ():
        if position < len(letters) and URGENCY.index(DEGRADED_LETTER) < URGENCY.index(letters[position]):
            letters[position] = DEGRADED_LETTER
    return Cells(name, total, width, "".join(letters))


def lifetime(row: TaskRow, moves: Sequence[Event], now: datetime) -> tuple[datetime, datetime]:
    """When a task began, and when it ended or how late it is."""
    started = min([row.created_at, *(event.at for event in moves)])
    return started, max(row.finished_at or now, started + timedelta(seconds=1))


def spans(moves: Sequence[Event], row: TaskRow) -> tuple[StageSpan, ...]:
    """The stages a task was at work in, from the events that name one: none while it rests, several where it came back."""
    found: list[StageSpan] = []
    for event in moves:
        rests = event.target is not None and event.target != TaskState.ACTIVE
        if found and found[-1].ended_at is None and (rests or found[-1].stage != event.stage):
            found[-1] = replace(found[-1], ended_at=event.at)
        if not rests and event.stage is not None and (not found or found[-1].ended_at is not None):
            found.append(StageSpan(event.stage, event.at, None))
    if found and found[-1].ended_at is None and row.finished_at is not None:
        found[-1] = replace(found[-1], ended_at=row.finished_at)
    return tuple(found)


def lanes(
    settled: Sequence[tuple[int, str | None, str, int]],
    seconds: float,
    started: datetime,
    ended: datetime,
    now: datetime,
) -> tuple[Lane, ...]:
    """One row of counts per worker, the earliest span first; the database counted backwards from now."""
    count = max(1, ceil((ended - started).total_seconds() / seconds))
    first = int((now - started).total_seconds() // seconds)
    rows: dict[str | None, tuple[list[int], list[int]]] = defaultdict(lambda: ([0] * count, [0] * count))
    for ago, worker, state, many in settled:
        position = min(count - 1, max(0, first - ago))
        rows[worker][state == ItemState.FAILED][position] += many
    known = sorted(rows.items(), key=lambda pair: pair[0] or "~")
    return tuple(Lane(worker, tuple(done), tuple(failed)) for worker, (done, failed) in known)
