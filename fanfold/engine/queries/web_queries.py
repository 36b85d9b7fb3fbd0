"""Queries for the web pages: the grid of items, the timeline, groups of failures, labels to filter by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from math import ceil

from fanfold.engine.queries.lookup import Lookup, chosen_stage
from fanfold.engine.queries.results.output_stream import OutputStream
from fanfold.engine.queries.results.outputs import last_output
from fanfold.engine.queries.task_view import counted_stage, item_view, view
from fanfold.errors import NotFound
from fanfold.model.item import Item
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.money.questions import NOTHING_SPENT
from fanfold.model.task import Cells, Event, StageSpan, Task, TaskRow, Timeline, WorkerPace
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import is_storable
from fanfold.model.values import serial
from fanfold.model.values.files import File
from fanfold.store.store import Transaction

CELLS = 20_000
"""Most cells of a grid; stages with more items are shown in runs."""
LETTERS = {
    ItemState.PENDING: "p",
    ItemState.RUNNING: "r",
    ItemState.RETRYING: "t",
    ItemState.WAITING: "w",
    ItemState.DONE: "d",
    ItemState.FAILED: "f",
}
DEGRADED_LETTER = "g"
"""Letter of a done but degraded item."""
URGENCY = "frtwpgd"
"""State letters by urgency; a run of items shows the most urgent one."""
SPANS = 96
"""Columns of a timeline."""
RETRIED_AT_ONCE = 10_000


class WebQueries:
    """Read-only queries for pages, about one task or all of them."""

    def __init__(self, look: Lookup) -> None:
        self._look = look
        self.store = look.store
        self.owner = look.owner

    def count_needing(self) -> int:
        """How many tasks need a person."""
        with self.store.read() as tx:
            return tx.tasks.count_needing(self.owner)

    def labels(self) -> dict[str, list[str]]:
        """The tags and owners in use, to filter a list by."""
        with self.store.read() as tx:
            return {
                "tags": tx.tasks.tags(self.owner),
                "owners": tx.tasks.owners() if self.owner is None else [self.owner],
            }

    def changed_since(self, event_id: int, limit: int = 200) -> list[Task]:
        """The current state of tasks with events after the given one, the most recently changed first."""
        with self.store.read() as tx:
            return view(self.store, tx, tx.tasks.by_ids(tx.events.changed(event_id, self.owner, limit)))

    def latest_events(self, task_id: str, before: int | None = None, limit: int = 100) -> list[Event]:
        """The last events of a task, newest first; ``before`` is the id of the last one seen."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            return tx.events.latest_of(row.number, before, limit)

    def cells(self, task_id: str, stage: str | None = None, *, most: int = CELLS) -> Cells:
        """The states of all items of a stage, by default the one whose items people count."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            return cells_of(tx, row, stage, most)

    def timeline(self, task_id: str) -> Timeline:
        """The progress over time, in at most 96 spans."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            now = tx.time()
            moves = tx.events.stages_of(row.number)
            started, ended = lifetime(row, moves, now)
            seconds = max(1.0, ceil((ended - started).total_seconds() / SPANS))
            settled = tx.counting.pace(row.number, seconds)
            tried = tx.reading.lost_attempts(row.number)
        return Timeline(
            started_at=started,
            ended_at=ended,
            seconds_per_span=seconds,
            stages=spans(moves, row),
            rows=paces(settled, seconds, started, ended, now),
            attempts=tuple(tried),
        )

    def stages(self, task_id: str) -> tuple[StageSpan, ...]:
        """The stages a task was in, and when, for its timeline."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            moves = tx.events.stages_of(row.number)
            return spans(moves, row)

    def items_from(self, task_id: str, stage: str, position: int, limit: int = 1) -> list[Item]:
        """The items of a stage from a position on, counted from 0."""
        row = self._look.row(task_id)
        row.plan.stage(stage)
        with self.store.read() as tx:
            rows = tx.reading.results(row.number, stage, position, limit, bodies=False)
        return [item_view(self.store, row.plan, found, NOTHING_SPENT) for found in rows]

    def keys_at(self, task_id: str, stage: str, positions: Collection[int], states: Sequence[str]) -> list[str]:
        """The keys of the items at these positions, counted from 0, that are in one of the states, in order."""
        row = self._look.row(task_id)
        row.plan.stage(stage)
        with self.store.read() as tx:
            return tx.reading.keys_at(row.number, stage, [at + 1 for at in sorted(set(positions))], states)

    def makers(self, task_id: str) -> dict[str, int]:
        """How many outputs of the counted stage each model (or its substitute) made."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            return tx.counting.makers(row.number, chosen_stage(tx, row, None))

    def shortfalls(self, task_id: str, limit: int = 20) -> list[tuple[str, str, int]]:
        """Why items are degraded, grouped: (stage, reason, count), the most frequent first."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            return tx.reading.shortfalls(row.number, limit)

    def failed_items(self, task_id: str, limit: int) -> list[tuple[str, str, int]]:
        """(stage, code, number of failures) of failed items, at most ``limit``."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            return tx.reading.failed_items(row.number, limit)

    def failed_keys(self, task_id: str, stage: str, code: str, message: str, limit: int = RETRIED_AT_ONCE) -> list[str]:
        """The keys of the first items that failed for exactly this reason: one line of ``failures``."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            return tx.reading.failed_keys(row.number, stage, code, message, limit)

    def failed_like(self, task_id: str, stage: str, code: str) -> list[tuple[str, str]]:
        """(key, message) of the items of a stage that failed with a code."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            return tx.reading.failed_like(row.number, stage, code, RETRIED_AT_ONCE)

    def file(self, task_id: str, name: str) -> File:
        """A file of the task by the last part of its key. Only files that the database assigns to the task are opened."""
        row = self._look.row(task_id)
        key = f"{row.id}/{name}"
        with self.store.read() as tx:
            found = tx.blobs.find(row.number, key) if is_storable(key) else None
        if found is None:
            raise NotFound(say("no_file", task=row.id, name=name[:200]))
        return self.store.bind(File(key, *found))

    def large_result(self, task_id: str) -> File | None:
        """The file of a result that is too large for the database, for a preview."""
        text = last_output(self._look, self._look.row(task_id), earlier=False) or ""
        value = serial.load(text, self.store.bind) if text.startswith(f'{{"{serial.LARGE_MARK}":') else None
        file = value.get(serial.LARGE_MARK) if isinstance(value, dict) else None
        return file if isinstance(file, File) else None

    def emitted(self, task_id: str, *, follow: bool = True, after: str | None = None) -> OutputStream:
        """Pieces that items emit, step by step, for callers that do their own waiting; ``after``: the place to continue from."""
        return OutputStream(self.store, self._look.row(task_id), follow, after=after)


def cells_of(tx: Transaction, row: TaskRow, stage: str | None = None, most: int = CELLS) -> Cells:
    """The states of the items of a stage as letters."""
    counts = tx.counting.counts([row.number]).get(row.number, {})
    name = stage or counted_stage(row.plan, row.stage, counts)
    row.plan.stage(name)
    width = max(1, ceil(counts[name].total / most)) if name in counts else 1
    found = tx.counting.cells(row.number, name, width)
    # Counted again: items may have been added since the counts were read.
    counted = sum(many for _, _, many in found)
    # An item that failed in an earlier `each` stage has no successor here: its cell stays, so that positions agree.
    last = max((position + 1 for position, _, _ in found), default=0)
    total = max(counted, last) if width == 1 else counted
    letters = [LETTERS[ItemState.FAILED] if width == 1 else "d"] * max(last, ceil(total / width))
    for position, state, _ in found:
        letter = LETTERS[ItemState(state)]
        if width == 1 or URGENCY.index(letter) < URGENCY.index(letters[position]):
            letters[position] = letter
    for position in tx.counting.degraded_at(row.number, name, width) if "d" in letters else ():
        if position < len(letters) and URGENCY.index(DEGRADED_LETTER) < URGENCY.index(letters[position]):
            letters[position] = DEGRADED_LETTER
    return Cells(name, total, width, "".join(letters))


def lifetime(row: TaskRow, moves: Sequence[Event], now: datetime) -> tuple[datetime, datetime]:
    """When a task began, and when it ended, or now if it has not."""
    started = min([row.created_at, *(event.at for event in moves)])
    return started, max(row.finished_at or now, started + timedelta(seconds=1))


def spans(moves: Sequence[Event], row: TaskRow) -> tuple[StageSpan, ...]:
    """The periods in which a task worked in a stage, from its events: none while it rests, several if it came back."""
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


def paces(
    settled: Sequence[tuple[int, str | None, str, int]],
    seconds: float,
    started: datetime,
    ended: datetime,
    now: datetime,
) -> tuple[WorkerPace, ...]:
    """One row of counts per worker, the earliest span first; the database counts backwards from now."""
    count = max(1, ceil((ended - started).total_seconds() / seconds))
    first = int((now - started).total_seconds() // seconds)
    rows: dict[str | None, tuple[list[int], list[int]]] = defaultdict(lambda: ([0] * count, [0] * count))
    for ago, worker, state, many in settled:
        position = min(count - 1, max(0, first - ago))
        rows[worker][state == ItemState.FAILED][position] += many
    known = sorted(rows.items(), key=lambda pair: pair[0] or "~")
    return tuple(WorkerPace(worker, tuple(done), tuple(failed)) for worker, (done, failed) in known)
