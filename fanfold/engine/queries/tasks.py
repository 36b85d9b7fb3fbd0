"""How does a program look at things? Tasks, items, results, events; polled, waited for or followed live."""

from __future__ import annotations

import builtins
import time
from collections.abc import Iterator, Sequence
from typing import Any

from fanfold.engine.queries.items import Details, chosen_stage, no_item
from fanfold.engine.queries.metrics import Metrics, measure
from fanfold.engine.queries.output_stream import Emitted
from fanfold.engine.queries.results import Results
from fanfold.engine.queries.views import item_view, number_in, view
from fanfold.engine.tasks.reset_items import is_same
from fanfold.errors import BadInput, NotFound, TaskStopped
from fanfold.model import serial
from fanfold.model.asking import NOTHING_SPENT
from fanfold.model.files import File
from fanfold.model.item import Item, Result
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.plan import Kind
from fanfold.model.task import Event, Task, TaskRow
from fanfold.model.texts import check_keys
from fanfold.store.answers import CallRow
from fanfold.store.items.query import ItemRow
from fanfold.store.store import Transaction
from fanfold.store.tasks import Filter
from fanfold.store.workers import WorkerRow

POLL_SECONDS = 0.2
LAST_ID = 2**62
"""No row has a higher id, and no database takes a much larger number."""
LATE_EVENTS = 1_000
"""Two workers may commit events out of the order of their ids: a follower looks back so far for late ones."""


class Reader(Details):
    """The questions a client can ask; it changes nothing. An ``owner`` restricts it to the tasks of that owner."""

    def get(self, task_id: str) -> Task:
        """The task as it is now."""
        return self._view(self._row(task_id))

    def list(
        self,
        *,
        states: Sequence[str] = (),
        pipeline: str | None = None,
        owner: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        needs_you: bool = False,
        after: str | None = None,
        limit: int = 50,
    ) -> builtins.list[Task]:
        """Tasks, newest first; ``after`` is the cursor, or the id, of the last one of the page before.

        ``needs_you=True`` gives those that a person should look at: their ``needs_you`` says why.
        """
        if not 1 <= limit <= 1_000:
            raise BadInput(f"The limit is {limit}; it must be from 1 to 1000.")
        unknown = [state for state in states if state not in [*TaskState]]
        if unknown:
            raise BadInput(f"There is no task state {', '.join(unknown)}. There are: {', '.join(TaskState)}.")
        number = None if after is None else self._place(after)
        wanted = Filter(
            tuple(states),
            pipeline,
            self.owner if self.owner is not None else owner,
            tag,
            text,
            number,
            limit,
            needs_you,
        )
        with self.store.read() as tx:
            return view(self.store, tx, tx.tasks.find(wanted))

    def _place(self, after: str) -> int:
        """Where a page begins. A cursor tells it by itself, so that a list can be walked while its tasks are deleted."""
        number = number_in(after)
        return self._row(after).number if number is None else number

    def count_needing(self) -> int:
        """How many tasks a person should look at."""
        with self.store.read() as tx:
            return tx.tasks.count_needing(self.owner)

    def counts(self) -> dict[str, int]:
        """How many tasks are in each state."""
        with self.store.read() as tx:
            return tx.tasks.count_by_state(self.owner)

    def labels(self) -> dict[str, builtins.list[str]]:
        """The tags and owners that tasks have, by name: what a list can be filtered by."""
        with self.store.read() as tx:
            return {
                "tags": tx.tasks.tags(self.owner),
                "owners": tx.tasks.owners() if self.owner is None else [self.owner],
            }

    def items(
        self,
        task_id: str,
        *,
        stage: str | None = None,
        states: Sequence[str] = (),
        keys: Sequence[str] = (),
        degraded: bool | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> builtins.list[Item]:
        """Items of a task in order, by default of the stage people count; ``after`` is the key of the last one before.

        ``degraded=True`` gives those whose result is not what was asked for, ``False`` the others.
        """
        keys = check_keys(keys, "`keys`")
        _check_limit(limit)
        row = self._row(task_id)
        with self.store.read() as tx:
            name = chosen_stage(tx, row, stage)
            start = 0 if after is None else self._id(tx, row, name, after)
            rows = tx.reading.page(
                row.number,
                stage=name,
                states=states,
                keys=keys,
                degraded=degraded,
                after=start,
                limit=limit,
                bodies=False,
            )
            spent = tx.calls.of_items([found.id for found in rows])
        return [item_view(self.store, row.plan, found, spent.get(found.id, NOTHING_SPENT)) for found in rows]

    def output(self, task_id: str, key: str, stage: str | None = None, *, earlier: bool = False) -> Any:
        """The output of one item that is done; with ``earlier`` what it had made before it was redone. NotFound without one."""
        row = self._row(task_id)
        with self.store.read() as tx:
            found = self._item(tx, row, key, stage)
        is_done = found.state == ItemState.DONE
        before = found.previous if is_done else found.output or found.previous
        text = before if earlier else found.output
        if text is None if earlier else not is_done:
            what = "earlier output" if earlier else "output"
            known = " What it made before: ask for the earlier one (--earlier)." if before and not earlier else ""
            state = f"Item {found.key} of task {row.id} is {found.state}"
            raise NotFound(f"{state} and has no {what}.{known}", code="no_output")
        return self.store.unfold(text)

    def calls(
        self,
        task_id: str,
        key: str | None = None,
        stage: str | None = None,
        *,
        before: int | None = None,
        limit: int | None = 1_000,
    ) -> builtins.list[CallRow]:
        """The last calls to models that a task, or one of its items, has made, in order, with what each cost.

        ``before`` is the id of the first one of those seen already; without a ``limit`` they are all of them.
        """
        _check_limit(limit)
        row = self._row(task_id)
        with self.store.read() as tx:
            item = None if key is None else self._id(tx, row, chosen_stage(tx, row, stage), key)
            return tx.calls.of_task(row.number, item, before=before, limit=limit)

    def events(self, task_id: str, after: int = 0, limit: int = 1_000) -> builtins.list[Event]:
        """What happened to a task, in order; ``after`` is the id of the last event seen."""
        _check_limit(limit)
        row = self._row(task_id)
        with self.store.read() as tx:
            return tx.events.of(row.number, max(0, min(after, LAST_ID)), limit)

    def failures(self, task_id: str, limit: int = 20) -> builtins.list[tuple[str, str, str, int]]:
        """Why items failed, grouped: (stage, code, message, how many), the most frequent first."""
        _check_limit(limit)
        row = self._row(task_id)
        with self.store.read() as tx:
            return tx.reading.failures(row.number, limit)

    def results(self, task_id: str, stage: str | None = None) -> Results:
        """The results of an `each` stage, as a lazy, ordered stream; by default of the last one."""
        row = self._row(task_id)
        each = [planned.name for planned in row.plan.stages if planned.kind is Kind.EACH]
        if stage is None and not each:
            raise BadInput(f"Task {row.id} has no stage with many items.")
        source = row.plan.stage(stage or each[-1])
        before = row.plan.leading_to(source.name) if source.kind is Kind.EACH else ()
        return Results(self.store, row.number, source.name, before)

    def result(self, task_id: str, *, earlier: bool = False) -> Any:
        """What the last stage made: a value or a ``File``; for a pipeline that ends with `each`, the list of outputs.

        TaskStopped while the task is not completed: what it made before is out of date as soon as something is redone. With
        ``earlier`` that is given all the same.
        """
        row = self._row(task_id)
        last = row.plan.stages[-1]
        while last.kind is Kind.EACH and row.state is TaskState.COMPLETED:
            outputs = [result.output for result in Results(self.store, row.number, last.name)]
            before, row = row, self._row(task_id)
            if is_same(before, row):  # Else items may have been redone between two pages, and be missing or mixed.
                return outputs
        return self.store.unfold(self._last_output(row, earlier=earlier))

    def large_result(self, task_id: str) -> File | None:
        """The file that the text of a result lies in that is too large for the database, for who wants only a look."""
        text = self._last_output(self._row(task_id), earlier=False) or ""
        value = serial.load(text, self.store.bind) if text.startswith(f'{{"{serial.LARGE_MARK}":') else None
        file = value.get(serial.LARGE_MARK) if isinstance(value, dict) else None
        return file if isinstance(file, File) else None

    def missing(self, task_id: str) -> Iterator[Result]:
        """The items without a result, of every `each` stage, in order, with the reason; each where it failed first."""
        row = self._row(task_id)
        for chain in row.plan.chains():
            seen: set[int] = set()
            for stage in chain:
                for gap in Results(self.store, row.number, stage).missing():
                    if gap.seq not in seen:
                        seen.add(gap.seq)
                        yield gap

    def wait(self, task_id: str, timeout: float | None = None, *, poll: float = POLL_SECONDS) -> Task:
        """Wait until the task is finished, or waits for a person; TimeoutError when it takes longer."""
        row = self._row(task_id)
        started = time.monotonic()
        while True:
            with self.store.read() as tx:
                found = tx.tasks.get(row.number)
            if found is None:
                raise NotFound(f"Task {row.id} was deleted.")
            if found.state is not TaskState.ACTIVE:
                return self._view(found)
            with self.store.read() as tx:
                held = tx.reading.held([row.number])
            if held and (task := self._view(found)).stalled:
                return task
            if timeout is not None and time.monotonic() - started >= timeout:
                raise TimeoutError(f"Task {row.id} is still {found.state} after {timeout:g} s.")
            time.sleep(poll)

    def follow(self, task_id: str, *, after: int = 0, poll: float = POLL_SECONDS) -> Iterator[Task | Event]:
        """A live stream: every event once (from ``after`` on), and the task whenever it has changed, until it is finished."""
        row = self._row(task_id)
        last: Task | None = None
        seen: set[int] = set()
        newest = after
        while True:
            task = self.get(row.id)
            for event in self.events(row.id, max(after, newest - LATE_EVENTS), 2 * LATE_EVENTS):
                if event.id not in seen:
                    seen.add(event.id)
                    newest = max(newest, event.id)
                    yield event
            if task != last:
                yield task
                last = task
            if task.finished:
                return
            time.sleep(poll)

    def stream(self, task_id: str, *, follow: bool = True, poll: float = POLL_SECONDS) -> Iterator[tuple[str, Any]]:
        """Pieces that items emit, as (key, value): in the order of the items, each item's in its own order, while they run.

        ``(key, ff.BEGAN_AGAIN)`` says that another attempt of the item has begun: its earlier pieces do not count any more.
        """
        emitted = self.emitted(task_id, follow=follow)
        while not emitted.over:
            pieces = emitted.next()
            yield from pieces
            if not pieces and not emitted.over:
                time.sleep(poll)

    def emitted(self, task_id: str, *, follow: bool = True) -> Emitted:
        """The same step by step, for those who wait in a way of their own."""
        return Emitted(self.store, self._row(task_id), follow)

    def workers(self) -> builtins.list[WorkerRow]:
        """Every known worker, the living first."""
        with self.store.read() as tx:
            return tx.workers.all(self.store.settings.lease_seconds)

    def metrics(self) -> Metrics:
        """The figures of the whole installation."""
        return measure(self.store)

    def _id(self, tx: Transaction, row: TaskRow, stage: str, key: str) -> int:
        found = tx.reading.ids(row.number, stage, [key])
        if not found:
            raise no_item(row, key, stage)
        return found[0]

    def _last_output(self, row: TaskRow, *, earlier: bool) -> str | None:
        """What a last stage of one item has made, as kept; of a task that is not completed only with ``earlier``."""
        last = row.plan.stages[-1]
        rows: builtins.list[ItemRow] = []
        if last.kind is not Kind.EACH:
            with self.store.read() as tx:
                rows = tx.reading.page(row.number, stage=last.name, states=["done"], limit=1)
        if not rows or not (earlier or row.state is TaskState.COMPLETED):
            known = f" What it had made before: fanfold result {row.id} --earlier." if rows else ""
            task = self._view(row)
            possible = task.available_commands
            raise TaskStopped(no_result(task) + known, task_id=row.id, state=row.state, available_commands=possible)
        return rows[0].output

    def _view(self, row: TaskRow) -> Task:
        with self.store.read() as tx:
            return view(self.store, tx, [row])[0]


def _check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise BadInput(f"The limit is {limit}; it must be 1 or more.")


def no_result(task: Task) -> str:
    """Why a task has no result, and what to do about it."""
    why = f": {task.error_message}" if task.error_message else ""
    ways = ", ".join(f"fanfold {command} {task.id}" for command in task.plain_commands)
    return f"Task {task.id} is {task.status} and has no result{why}." + (f" Possible now: {ways}." if ways else "")
