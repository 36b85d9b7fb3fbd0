"""Runs one attempt: calls the handler and turns whatever it returns or raises into a settlement."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from types import AsyncGeneratorType
from typing import Any, TypeVar

from fanfold.engine.handlers import typed_values
from fanfold.engine.handlers.external_job import GRACE_SECONDS, LookLater
from fanfold.engine.handlers.subtask import LOOK_AGAIN_SECONDS, AwaitSubtasks
from fanfold.engine.handlers.task_and_item import ItemWork, TaskWork
from fanfold.engine.handlers.work import Work
from fanfold.engine.tasks.many_items.new_items import NewItems
from fanfold.engine.worker.attempt.attempt_result import (
    MESSAGE_LENGTH,
    OutOfTime,
    Settlement,
    clean,
    failed,
    said_by,
    shortfall,
)
from fanfold.engine.worker.attempt.time_limit import LoopBlocked, TimeLimit
from fanfold.engine.worker.processes.child import OUT_OF_MEMORY
from fanfold.engine.worker.processes.forks import end_copy, in_one_process
from fanfold.engine.worker.processes.main_script import Unguarded
from fanfold.errors import (
    BadInput,
    Cancelled,
    ChildDied,
    HoldItem,
    NotAsked,
    PauseTask,
    Permanent,
    Temporary,
    Unreadable,
)
from fanfold.model.endings import Ending
from fanfold.model.item import Claimed, Later
from fanfold.model.money.batch import AwaitBatch
from fanfold.model.money.usage import grown, kept
from fanfold.model.pipelines.pipeline import Pipeline, Stage
from fanfold.model.plan import Kind, PlannedStage
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.store.store import LARGE_START, Store

log = logging.getLogger("fanfold.worker")
Found = TypeVar("Found")


class Call:
    """One attempt: a claimed item with its stage and pipeline."""

    outcomes: Sequence[Settlement] = ()
    """How it ended in its thread or child, known even while the loop is blocked."""
    counted: str | None = None
    """The usage that was counted when the attempt ended; its handler may run on and use more."""

    def __init__(
        self,
        store: Store,
        pipeline: Pipeline,
        stage: Stage,
        row: TaskRow,
        claimed: Claimed,
        run_in_child: Callable[..., Awaitable[Any]] | None = None,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        self.store = store
        self.stage = stage
        self.row = row
        self.claimed = claimed
        self.with_arguments = pipeline.calls_with_arguments
        self.types = pipeline.kept_types
        self.time = TimeLimit(stage.timeout)
        self._run_in_child = run_in_child
        kind = ItemWork if stage.kind is Kind.EACH else TaskWork
        limit = stage.retry.limit if row.retry_limit is None else row.retry_limit
        self.work: Work = kind(
            store,
            row,
            claimed,
            run_in_child=None if run_in_child is None else self.run_in_child,
            retries_left=max(0, limit - claimed.failures),
            wait_limit=stage.wait_limit,
            lane=stage.lane,
            grace_seconds=grace_seconds,
            types=self.types,
        )
        self.work._clock = self.time

    @property
    def parts(self) -> list[Call]:
        """Its only item; a batch has several."""
        return [self]

    @property
    def name(self) -> str:
        """Its item in a log line."""
        return self.claimed.key

    def lease_of(self, _item: int) -> int | None:
        """The lease of its item."""
        return self.claimed.lease

    def stop(self, _item: int | None = None) -> bool:
        """Mark its item as no longer wanted."""
        self.work._stop.set()
        return True

    def handler_arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """The handler's arguments; HoldItem if the code has changed the kind of the stage meanwhile."""
        self.check_kind()
        if self.with_arguments and isinstance(self.work, TaskWork):
            first = next(iter(inspect.signature(self.stage.handler).parameters), None)
            return [*([self.work] if first == "task" else []), *typed_values.arguments(self.work)], self.work.options
        if isinstance(self.work, TaskWork) and self.stage.kind is Kind.MERGE:
            return [self.work, self.work.results()], {}
        self.read_input()
        return [self.work], {}

    def check_kind(self) -> None:
        """HoldItem if the code has changed the kind of the stage since the task was submitted."""
        for planned in self.row.plan.stages:  # A plain loop for speed: it runs for every item.
            if planned.name == self.stage.name and planned.kind is not self.stage.kind:
                raise self._other_kind(planned)

    def read_input(self) -> None:
        """Read an input that may turn out to be unreadable, before the handler runs and pays for anything."""
        text, work = self.claimed.input, self.work
        is_elsewhere = self.store.shelf.is_remote and text is not None and text.startswith(LARGE_START)
        if isinstance(work, ItemWork) and (is_elsewhere or self.types.makes(text, self.stage.name)):
            work._read_input()

    def beside(self, claimed: Claimed) -> Call:
        """The same for another item of the same batch, before anything has happened to this one: all but the item is shared."""
        part = Call.__new__(Call)
        part.__dict__.update(self.__dict__)
        part.claimed = claimed
        part.work = self.work._beside(claimed)
        return part

    async def run_in_child(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        """Run a plain function in a child process for the handler, within its time limit."""
        assert self._run_in_child is not None
        return await self._run_in_child(self, function, arguments, named)

    def _other_kind(self, planned: PlannedStage) -> HoldItem:
        return HoldItem(say("stage_changed_kind", stage=self.stage.name, before=planned.kind, now_kind=self.stage.kind))

    def run_sync(self) -> Settlement:
        """Call a plain handler in this thread; whatever happens becomes a settlement."""
        home = os.getpid()
        try:
            arguments, named = self.handler_arguments()
            value = self.stage.handler(*arguments, **named)
            end_copy(home)
            return self.conclude(value)
        except BaseException as error:
            end_copy(home, error)
            return self.end(error)
        finally:
            self.work.close()

    async def run_async(self) -> Settlement:
        """Await an `async def` handler; only a cancellation from outside propagates."""
        home = os.getpid()
        try:
            is_remote = (
                self.store.shelf.is_remote
            )  # Asked once here: a coroutine for each step would cost as much as the step.
            arguments, named = await self._beside(self.handler_arguments) if is_remote else self.handler_arguments()
            made = self.stage.handler(*arguments, **named)
            value = [one async for one in made] if isinstance(made, AsyncGeneratorType) else await made
            end_copy(home)
            return await self._beside(self.conclude, value) if is_remote else self.conclude(value)
        except asyncio.CancelledError as error:
            end_copy(home, error)
            attempt = asyncio.current_task()
            if attempt is not None and not attempt.cancelling():
                return self.fail(error)  # Raised by the handler itself: releasing the item would repeat it forever.
            self.work._stop.set()
            raise
        except BaseException as error:
            end_copy(home, error)
            return self.end(error)
        finally:
            self.work.close()

    async def _beside(self, function: Callable[..., Found], *arguments: Any) -> Found:
        """Run a step that may read or write a large value; in a thread if files are in a bucket: the loop must not wait."""
        if self.store.shelf.is_remote:
            return await asyncio.to_thread(function, *arguments)
        return function(*arguments)

    def conclude(self, value: Any) -> Settlement:
        """The settlement for a handler's return value."""
        if isinstance(value, Later):
            return self._postponed(value)
        work = self.work
        if work._streamed is not None:
            work.flush()
        if self.stage.kind is Kind.SPLIT:
            return self._split(value)
        output, settings = None, self.store.settings
        if value is not None:
            output = serial.dump(value, self._returned, settings.result_bytes)
            if len(output) * 4 > settings.inline_bytes:
                output = work._fold(f"{self.claimed.key}.json", output)
        added = work.added if isinstance(work, ItemWork) else ()
        if work.usage is None and work.model is None and not work.shortfalls:
            return Settlement(self.claimed, Ending.FINISH, output, added=added)
        marks = {**self._cost(), "degraded": shortfall(work.shortfalls)}
        return Settlement(self.claimed, Ending.FINISH, output, added=added, **marks)

    def end(self, error: BaseException) -> Settlement:
        """The settlement for a handler's exception: handed back if it was told to stop, otherwise failed."""
        error = _steering(error)
        if isinstance(error, Cancelled) and self.work.cancelled:
            return self.release()
        if isinstance(error, LookLater):
            return Settlement(self.claimed, Ending.POSTPONE, delay=error.seconds, **self._cost())
        if isinstance(error, AwaitBatch):
            return Settlement(self.claimed, Ending.POSTPONE, delay=error.seconds, in_batch=True, **self._cost())
        if isinstance(error, AwaitSubtasks):
            return Settlement(
                self.claimed, Ending.POSTPONE, delay=LOOK_AGAIN_SECONDS, awaits=error.names, **self._cost()
            )
        if isinstance(error, PauseTask):
            return self.release(pause=clean(said_by(error) or say("no_reason_given"), 1_000))
        if isinstance(error, Unreadable):
            error = HoldItem(say("unreadable_held", why=error.message, task=self.row.id))
        if isinstance(error, HoldItem):
            why = clean(said_by(error) or say("no_reason_given"), 1_000)
            return Settlement(self.claimed, Ending.HOLD, hold=why, **self._cost())
        if isinstance(error, ChildDied):
            return self.lose(error)
        if isinstance(error, Unguarded):
            return self.release()
        if isinstance(error, LoopBlocked):
            return self.time_out() if self.time.is_over else self.release()
        return self.fail(error)

    def lose(self, death: ChildDied) -> Settlement:
        """The settlement for a dead child process: lost, or failed if it ran out of memory, which would happen again."""
        if death.code == OUT_OF_MEMORY:
            return self.fail(Permanent(death.message, code=OUT_OF_MEMORY))
        message = clean(death.message, MESSAGE_LENGTH)
        return Settlement(self.claimed, Ending.RECLAIM, error_code="crash", error_message=message)

    def fail(self, error: BaseException) -> Settlement:
        """The settlement for a failure; its usage still counts."""
        try:
            cost = self._cost()
        except BadInput:
            cost = {}
        told = self.work.failed_subtasks
        return failed(self.claimed, self.stage, error, self.row.retry_limit)._replace(**cost, told=told)

    def time_out(self) -> Settlement:
        """The settlement for an attempt that took too long."""
        self.work._stop.set()
        return self.fail(Temporary(say("time_limit", seconds=self.stage.timeout), code="timeout"))

    def _returned(self) -> str:
        return say("returned_by", stage=self.stage.name)

    def _postponed(self, value: Later) -> Settlement:
        if self.claimed.waiting_seconds > self.stage.wait_limit:
            raise Permanent(
                say("external_gave_up", waited=self.claimed.waiting_seconds, limit=self.stage.wait_limit),
                code="gave_up",
            )
        return Settlement(self.claimed, Ending.POSTPONE, delay=value.seconds, **self._cost())

    def _split(self, value: Any) -> Settlement:
        if value is None or isinstance(value, str | bytes | dict) or not hasattr(value, "__iter__"):
            raise BadInput(say("split_yields", stage=self.stage.name, type=type(value).__name__), code="bad_split")
        path = self.store.scratch / f"split-{self.row.id}-{self.claimed.id}-{self.claimed.lease}.jsonl"
        new_items = NewItems(path, self.claimed.generation)
        new_items.fill(
            in_one_process(value), self.work._fold, self.store.settings.result_bytes, check=self._check_input
        )
        return Settlement(
            self.claimed, Ending.FINISH, new_items=new_items, **self._cost(), degraded=shortfall(self.work.shortfalls)
        )

    def _check_input(self, text: str, what: Callable[[], str]) -> None:
        follower = self.row.plan.after(self.stage.name)
        self.types.check(text, Any if follower is None else self.types.input(follower.name), what)

    def release(self, pause: str | None = None, out_of_time: OutOfTime | None = None) -> Settlement:
        """Hand the item back without a failure counted. What the attempt has spent still counts."""
        return Settlement(self.claimed, Ending.RELEASE, pause=pause, out_of_time=out_of_time, **self._cost())

    def late(self) -> Settlement | None:
        """What the handler has used since its attempt ended; None if nothing."""
        usage = grown(json.loads(self.counted or "{}"), kept(self.work.usage or {})[0])
        if not usage:
            return None
        return self.release()._replace(ending=Ending.LOST, usage=serial.dump(usage, "The usage"))

    def _cost(self) -> dict[str, Any]:
        usage = None if self.work.usage is None else serial.dump(kept(self.work.usage)[0], "The usage")
        return {"model": None if self.work.model is None else clean(str(self.work.model), 200), "usage": usage}


def _steering(error: BaseException) -> BaseException:
    """The reason why a question could not be asked or is not answered yet, also if a task group has wrapped it."""
    if isinstance(error, NotAsked):
        return error.reason
    if isinstance(error, BaseExceptionGroup):
        found = error.subgroup((NotAsked, AwaitBatch, AwaitSubtasks))
        return error if found is None else _steering(found.exceptions[0])
    return error
