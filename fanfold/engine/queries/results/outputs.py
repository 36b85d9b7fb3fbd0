"""Queries about the output of a task: its result, the results of its items, missing items, and streamed pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold.engine.queries.lookup import Lookup
from fanfold.engine.queries.pauses import Pause, pausing_stream
from fanfold.engine.queries.results.output_stream import OutputStream
from fanfold.engine.queries.results.task_result import Results
from fanfold.engine.queries.tasks import POLL_SECONDS
from fanfold.engine.tasks.many_items.reset_items import is_same
from fanfold.errors import BadInput, TaskStopped
from fanfold.model.item import Result
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.plan import Kind
from fanfold.model.task import Task, TaskRow
from fanfold.model.text.sentences import Sentence, say


class OutputQueries:
    """Read-only queries about results."""

    def __init__(self, look: Lookup) -> None:
        self._look = look
        self.store = look.store
        self.owner = look.owner

    def result(self, task_id: str, *, earlier: bool = False) -> Any:
        """The output of the last stage: a value or a ``File``; for a pipeline that ends with `each`, the list of outputs.

        TaskStopped while the task is not completed: an earlier result is outdated as soon as something is redone. With
        ``earlier`` it is returned anyway.
        """
        return self.result_of(self._look.row(task_id), earlier=earlier)

    def result_of(self, row: TaskRow, *, earlier: bool = False) -> Any:
        """The same for a task that was just read."""
        last = row.plan.stages[-1]
        while last.kind is Kind.EACH and row.state is TaskState.COMPLETED:
            outputs = [
                result.output for result in Results(self.store, row.number, last.name, (), *self._look.types(row))
            ]
            before, row = row, self._look.row(row.id)
            if is_same(before, row):  # Otherwise items may have been redone between two pages, and be missing or mixed.
                return outputs
        kept = last_output(self._look, row, earlier=earlier)
        hint = self._look.types(row)[0].output(last.name)
        return self._look.unfold(row, kept, say("output_of_stage", stage=last.name), hint)

    def results(self, task_id: str, stage: str | None = None) -> Results[Any, Any]:
        """The results of an `each` stage, as a lazy, ordered stream; by default of the last one."""
        return self.results_of(self._look.row(task_id), stage)

    def results_of(self, row: TaskRow, stage: str | None = None) -> Results[Any, Any]:
        """The same for a task that was just read."""
        each = [planned.name for planned in row.plan.stages if planned.kind is Kind.EACH]
        if stage is None and not each:
            raise BadInput(say("no_many_items", task=row.id))
        source = row.plan.stage(stage or each[-1])
        before = row.plan.leading_to(source.name) if source.kind is Kind.EACH else ()
        return Results(self.store, row.number, source.name, before, *self._look.types(row))

    def missing(self, task_id: str) -> Iterator[Result[Any, Any]]:
        """The items without a result, in order, with the reason; each is listed under the stage in which it failed first."""
        row = self._look.row(task_id)
        for chain in row.plan.chains():
            seen: set[int] = set()
            for stage in chain:
                for gap in Results(self.store, row.number, stage, (), *self._look.types(row)).missing():
                    if gap.seq not in seen:
                        seen.add(gap.seq)
                        yield gap

    @pausing_stream
    def stream(
        self, task_id: str, *, follow: bool = True, poll: float = POLL_SECONDS
    ) -> Iterator[tuple[str, Any] | Pause]:
        """Pieces that items emit, as (key, value): in the order of the items, each item's in its own order, while they run.

        ``(key, ff.BEGAN_AGAIN)`` means that a new attempt of the item has started: its earlier pieces no longer count.
        """
        row = self._look.row(task_id)
        emitted = OutputStream(self.store, row, follow, self._look.types(row)[1])
        while not emitted.over:
            pieces = emitted.next()
            yield from pieces
            if not pieces and not emitted.over:
                yield Pause(emitted.pause(poll))


def last_output(look: Lookup, row: TaskRow, *, earlier: bool) -> str | None:
    """The stored output of a last stage with one item; if the task is not completed, only with ``earlier``."""
    kept = _kept_outputs(look, row)
    if not kept or not (earlier or row.state is TaskState.COMPLETED):
        task = look.view(row)
        said = say("earlier_result", what=no_result(task), task=row.id) if kept else no_result(task)
        raise TaskStopped(said, task_id=row.id, state=row.state, available_commands=task.available_commands)
    return kept[0]


def _kept_outputs(look: Lookup, row: TaskRow) -> list[str | None]:
    """The output of a last stage with one item, if any. An item to be redone still has its earlier output."""
    last = row.plan.stages[-1]
    if last.kind is Kind.EACH:
        return []
    with look.store.read() as tx:
        rows = tx.reading.page(row.number, stage=last.name, limit=1)
    outputs = ((one.state, one.output or one.previous) for one in rows)
    return [output for state, output in outputs if state == ItemState.DONE or output is not None]


def no_result(task: Task) -> Sentence:
    """Why a task has no result, and what to do about it."""
    commands = [f"fanfold {command} {task.id}" for command in task.plain_commands]
    ways = say("possible_now", ways=commands) if commands else ""
    if task.error_message:
        return say("no_result_because", task=task.id, state=task.status, why=task.error_message, ways=ways)
    return say("no_result", task=task.id, state=task.status, ways=ways)
