"""The arguments of handlers: split, step and merge handlers get the task, `each` handlers get the item."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Generic, cast

from fanfold.engine.handlers import typed_values
from fanfold.engine.handlers.added_items import check_stage, collected
from fanfold.engine.handlers.subtask import existing_result
from fanfold.engine.handlers.work import Work
from fanfold.engine.queries.results.task_result import Results
from fanfold.errors import BadInput, Unreadable
from fanfold.model.awaited.external import ExternalJob
from fanfold.model.item import AddedItem, NewItem
from fanfold.model.pipelines.gates import defaults
from fanfold.model.pipelines.pipeline import Target
from fanfold.model.plan import Kind
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.decoding import unreadable
from fanfold.model.values.typed import In, Out

NOT_YET: Any = object()


class TaskWork(Work, Generic[In]):
    """The argument of split, step and merge handlers: the task. ``TaskWork[In]`` gives the type of its single input."""

    kept_types: ClassVar[tuple[str, ...]] = ("input",)

    _has_noted = False

    @property
    def id(self) -> str:
        """The task's public id."""
        return self._row.id

    @property
    def title(self) -> str:
        """The task's title, by default the name of its first file."""
        return self._row.title

    @property
    def inputs(self) -> list[Any]:
        """Everything the task was submitted with, files as ``File``."""
        found: list[Any] = typed_values.loaded(self, self._row.input, "The input") or []
        return found

    @property
    def input(self) -> In:
        """The single input; a list if there are several; None if there is none."""
        hint = list[self._types.task_input]  # type: ignore[name-defined]
        found = typed_values.loaded(self, self._row.input, "The input", hint) or []
        return cast("In", found[0] if len(found) == 1 else (found or None))

    @property
    def previous(self) -> Any:
        """The output of the previous step, or None."""
        before = self._row.plan.before(self._claimed.stage)
        return None if before is None or before.kind is Kind.EACH else self.output(before.name)

    def answer(self, stage: str | None = None) -> dict[str, Any]:
        """What a person answered at the gate of this stage, or of another one: the value of every option of that gate.

        For a task that was submitted to go straight through its gates, the defaults.
        """
        planned = self._row.plan.stage(stage or self._claimed.stage)
        with self._store.read() as tx:
            given = tx.gate_answers.latest(self._row.number, planned.name)
        return defaults(planned.asks) if given is None else dict(serial.load(given))

    def output(self, stage: str) -> Any:
        """The output of an earlier stage that has one item."""
        self._row.plan.stage(stage)
        with self._store.read() as tx:
            rows = tx.reading.page(self._row.number, stage=stage, limit=1)
        try:
            return self._unfold(rows[0].output, self._types.output(stage)) if rows else None
        except Unreadable as problem:
            raise unreadable(say("output_of_stage", stage=stage), problem) from problem

    def results(self, stage: str | None = None) -> Results[Any, Any]:
        """The results of an `each` stage, by default of the nearest one before this stage."""
        source = self._row.plan.stage(stage) if stage else self._row.plan.last_each(self._claimed.stage)
        if source is None:
            raise BadInput(say("no_each_before", stage=self._claimed.stage))
        self._note_decisions()
        before = self._row.plan.leading_to(source.name) if source.kind is Kind.EACH else ()
        return Results(self._store, self._row.number, source.name, before, self._types, bind=self._bind)

    def running_jobs(self) -> list[ExternalJob]:
        """The external jobs that were started for items of this task that have not ended: what `on_cancelled` has to stop."""
        with self._store.read() as tx:
            return tx.externals.running(self._row.number, self._store.settings.lease_seconds)

    def _note_decisions(self) -> None:
        """Record, before a merge reads any result, the last decision: any later one causes another merge."""
        if self._has_noted or self._row.plan.stage(self._claimed.stage).kind is not Kind.MERGE:
            return
        self._has_noted = True
        with self._store.read() as tx:
            last, noted, goes_on = tx.decisions.before_merge(self._claimed.id)
        if last is None or last == noted or goes_on:
            return
        with self._store.write() as tx:
            held = tx.settling.note_decided(self._claimed.id, self._claimed.lease, last)
        self._still(held)


class ItemWork(Work, Generic[In, Out]):
    """The argument of an `each` handler: the item, and its task. ``ItemWork[In, Out]`` gives the types of input and output."""

    kept_types: ClassVar[tuple[str, ...]] = ("input", "output")
    _unfolded: Any = NOT_YET
    added: tuple[AddedItem, ...] = ()
    """What this attempt has added so far."""

    @property
    def key(self) -> str:
        """The item's key, or its position if it has none."""
        return self._claimed.key

    @property
    def seq(self) -> int:
        """The item's position, from 1."""
        return self._claimed.seq

    @property
    def input(self) -> In:
        """The item's input, made by the split or by the stage before."""
        return cast("In", self._read_input())

    def _read_input(self) -> Any:
        if self._unfolded is NOT_YET:  # Not a cached_property, see ``_memory``: a large input is read from a file.
            try:
                hint = self._types.input(self._claimed.stage)
                self._unfolded = self._unfold(self._claimed.input, hint)
            except Unreadable as problem:
                raise unreadable(say("input_of_item", item=self.key), problem) from problem
        return self._unfolded

    @property
    def earlier(self) -> Out | None:
        """The item's output from before a person had it redone, or None. A handler may reuse the parts that are still good."""
        with self._store.read() as tx:
            text = tx.settling.previous(self._claimed.id)
        try:
            return cast("Out", self._unfold(text, self._types.output(self._claimed.stage)))
        except Unreadable as problem:
            raise unreadable(say("output_of_item", stage=self._claimed.stage, item=self.key), problem) from problem

    def last_job(self, name: str = "job") -> ExternalJob | None:
        """The newest external job of that name that this item had, even before a redo; None if it had none.

        A job that was given up may have ended well since, and is paid for: look at it before another one is started.
        """
        seconds = self._store.settings.lease_seconds
        with self._store.read() as tx:
            row = tx.externals.get(self._claimed.id, name, seconds)
            shown = [job for _, job in tx.externals.of_items([self._claimed.id], seconds) if job.name == name]
        if row is None or not shown:
            return None
        return replace(shown[0], job=typed_values.loaded(self, row.job, "The id of an external job"))

    def subtask_result(self, pipeline: Target, name: str | None = None) -> Any:
        """The result of a subtask that this item has submitted, even before a redo; None if there is none, or none yet."""
        return existing_result(self, pipeline, name)

    def add(self, *new: NewItem[Any]) -> None:
        """Add items to this stage, which is still running. They appear with this item's result, in one transaction.

        Each needs a key. A key that the stage already has adds nothing, so several items may find the same work, and an item
        that is redone adds nothing twice. If this attempt fails, is lost or waits (``later``), nothing is added. An attempt
        adds at most 2,000 items; those may add more. Not in an `each` stage that follows another one: add them there.
        """
        self.check()
        check_stage(self)
        self.added = collected(self, self.added, new)

    @property
    def task(self) -> TaskWork[Any]:
        """The task this item belongs to."""
        return TaskWork(
            self._store,
            self._row,
            self._claimed,
            self._stop,
            wait_limit=self.wait_limit,
            grace_seconds=self.grace_seconds,
            attempt_of=self,
            types=self._types,
        )
