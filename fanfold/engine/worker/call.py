"""How is a handler called? The one place where `def` and `async def` meet: in the loop, in a thread, or in a child process."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from fanfold.engine.context import ItemWork, TaskWork, Work
from fanfold.engine.external import LookLater
from fanfold.engine.tasks.split import refused, write_split
from fanfold.engine.tasks.split_file import Spool
from fanfold.engine.worker.attempt_result import MESSAGE_LENGTH, OutOfTime, Settlement, clean, failed, shortfall
from fanfold.engine.worker.child import OUT_OF_MEMORY
from fanfold.engine.worker.children import Children
from fanfold.engine.worker.forks import end_copy, in_one_process
from fanfold.engine.worker.main_script import Unguarded, is_reachable
from fanfold.engine.worker.threads import Threads
from fanfold.engine.worker.time_limit import Held, LoopBlocked, TimeLimit
from fanfold.errors import BadInput, Cancelled, ChildDied, DatabaseProblem, HoldItem, PauseTask, Permanent, Temporary
from fanfold.model import serial
from fanfold.model.item import Claimed, Later
from fanfold.model.pipeline import Pipeline, Stage
from fanfold.model.plan import Kind, PlannedStage
from fanfold.model.shortage import told
from fanfold.model.task import TaskRow
from fanfold.model.usage import kept
from fanfold.store.database_errors import REFUSED
from fanfold.store.store import Store

log = logging.getLogger("fanfold.worker")
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0
SUSPECT_CRASHES = 2
"""Not after the first crash: most items in flight were innocent, and a child for each would slow down every restart."""
SUSPECTS_AT_ONCE = 2
"""When a worker of 500 slots dies, 500 items are suspect: a child for each at once would take the next worker down as well."""
SUSPECT_WAIT_SECONDS = 20.0
"""Shorter than the sweep's patience with items past their deadline, so that waiting never looks like hanging."""


class Call:
    """One attempt: a claimed item with the stage and pipeline that know what to do with it."""

    outcome: Settlement | None = None
    """How it ended in its thread or child, also while the loop is blocked and cannot hear of it."""

    def __init__(self, store: Store, pipeline: Pipeline, stage: Stage, row: TaskRow, claimed: Claimed) -> None:
        self.store = store
        self.stage = stage
        self.row = row
        self.claimed = claimed
        self.with_arguments = pipeline.calls_with_arguments
        self.time = TimeLimit(stage.timeout)
        kind = ItemWork if stage.kind is Kind.EACH else TaskWork
        self.work: Work = kind(store, row, claimed)
        limit = stage.retry.limit if row.retry_limit is None else row.retry_limit
        self.work.retries_left = max(0, limit - claimed.failures)
        self.work.wait_limit = stage.wait_limit

    def handler_arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """What the handler is called with; HoldItem when the code has made another kind of stage of it meanwhile."""
        for planned in self.row.plan.stages:  # Written out: it is done for every item.
            if planned.name == self.stage.name and planned.kind is not self.stage.kind:
                raise self._other_kind(planned)
        if self.with_arguments and isinstance(self.work, TaskWork):
            first = next(iter(inspect.signature(self.stage.handler).parameters), None)
            return [*([self.work] if first == "task" else []), *self.work.inputs], self.work.options
        if isinstance(self.work, TaskWork) and self.stage.kind is Kind.MERGE:
            return [self.work, self.work.results()], {}
        return [self.work], {}

    def _other_kind(self, planned: PlannedStage) -> HoldItem:
        return HoldItem(
            f"{self.stage.name} was of the kind {planned.kind} when the task was submitted, and is {self.stage.kind} in the "
            "code of this worker. Run a worker with the earlier code and retry, or submit the work again."
        )

    def run_sync(self) -> Settlement:
        """Call a plain handler, here; whatever happens becomes a settlement."""
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
        """Await an `async def` handler; only being cancelled from outside gets out of here."""
        home = os.getpid()
        try:
            arguments, named = self.handler_arguments()
            made = self.stage.handler(*arguments, **named)
            value = [one async for one in made] if inspect.isasyncgen(made) else await made
            end_copy(home)
            return self.conclude(value)
        except asyncio.CancelledError as error:
            end_copy(home, error)
            attempt = asyncio.current_task()
            if attempt is not None and not attempt.cancelling():
                return self.fail(error)  # Raised in the handler, not from outside: releasing it would run it forever.
            self.work._stop.set()
            raise
        except BaseException as error:
            end_copy(home, error)
            return self.end(error)
        finally:
            self.work.close()

    def conclude(self, value: Any) -> Settlement:
        """The settlement for what a handler returned."""
        if isinstance(value, Later):
            return self._postponed(value)
        self.work.flush()
        if self.stage.kind is Kind.SPLIT:
            return self._split(value)
        output = None
        if value is not None:
            text = serial.dump(value, lambda: f"What {self.stage.name} returned", self.store.settings.result_bytes)
            output = self.work._fold(f"{self.claimed.key}.json", text)
        work = self.work
        if work.usage is None and work.model is None and not work.shortfalls:
            return Settlement(self.claimed, "finish", output)
        return Settlement(self.claimed, "finish", output, **self._cost(), degraded=shortfall(work.shortfalls))

    def end(self, error: BaseException) -> Settlement:
        """The settlement for what a handler raised: handed back if it was told to stop, else failed."""
        if isinstance(error, Cancelled) and self.work.cancelled:
            return self.release()
        if isinstance(error, LookLater):
            return Settlement(self.claimed, "postpone", delay=error.seconds, **self._cost())
        if isinstance(error, PauseTask):
            return self.release(pause=clean(str(error) or "no reason given", 1_000))
        if isinstance(error, HoldItem):
            return Settlement(self.claimed, "hold", hold=clean(str(error) or "no reason given", 1_000), **self._cost())
        if isinstance(error, ChildDied):
            return self.lose(error)
        if isinstance(error, Unguarded):
            return self.release()
        if isinstance(error, LoopBlocked):
            return self.time_out() if self.time.is_over else self.release()
        return self.fail(error)

    def lose(self, death: ChildDied) -> Settlement:
        """The settlement for the death of the child process: lost, or failed for want of memory, which would happen again."""
        if death.code == OUT_OF_MEMORY:
            return self.fail(Permanent(str(death), code=OUT_OF_MEMORY))
        message = clean(str(death), MESSAGE_LENGTH)
        return Settlement(self.claimed, "crash", error_code="crash", error_message=message)

    def fail(self, error: BaseException) -> Settlement:
        """The settlement for a failure; what was used counts all the same."""
        try:
            cost = self._cost()
        except BadInput:
            cost = {}
        return failed(self.claimed, self.stage, error, self.row.retry_limit)._replace(**cost)

    def time_out(self) -> Settlement:
        """The settlement for an attempt that took too long."""
        self.work._stop.set()
        return self.fail(Temporary(f"It took longer than its time limit of {self.stage.timeout:g} s.", code="timeout"))

    def _postponed(self, value: Later) -> Settlement:
        if self.claimed.waiting_seconds > self.stage.wait_limit:
            raise Permanent(
                f"Gave up on the external job after {self.claimed.waiting_seconds:.0f} s (limit: {self.stage.wait_limit:.0f} s).",
                code="gave_up",
            )
        return Settlement(self.claimed, "postpone", delay=value.seconds, **self._cost())

    def _split(self, value: Any) -> Settlement:
        if value is None or isinstance(value, str | bytes | dict) or not hasattr(value, "__iter__"):
            raise BadInput(
                f"{self.stage.name} must yield NewItem(…)s; it gave {type(value).__name__}.", code="bad_split"
            )
        path = self.store.scratch / f"split-{self.row.id}-{self.claimed.id}-{self.claimed.lease}.jsonl"
        spool = Spool(path).fill(in_one_process(value), self.work._fold, self.store.settings.result_bytes)
        spool.generation = self.claimed.generation
        return Settlement(self.claimed, "finish", spool=spool, **self._cost(), degraded=shortfall(self.work.shortfalls))

    def release(self, pause: str | None = None, out_of_time: OutOfTime | None = None) -> Settlement:
        """Hand the item back unharmed. What the attempt has spent is spent all the same."""
        return Settlement(self.claimed, "release", pause=pause, out_of_time=out_of_time, **self._cost())

    def _cost(self) -> dict[str, Any]:
        usage = None if self.work.usage is None else serial.dump(kept(self.work.usage)[0], "The usage")
        return {"model": None if self.work.model is None else clean(str(self.work.model), 200), "usage": usage}


class Caller:
    """Runs calls where they belong, with their time limits, so that each ends in a settlement or in CancelledError."""

    def __init__(
        self,
        store: Store,
        name: str,
        children: Children | None = None,
        on_unguarded: Callable[[Unguarded], None] = lambda _: None,
    ) -> None:
        self.threads = Threads(name)
        self.children = children or Children(store.settings)
        self._on_unguarded = on_unguarded
        self._unguarded: Unguarded | None = None
        self._errands = asyncio.Semaphore(self.children.at_once)
        self._suspects = asyncio.Semaphore(SUSPECTS_AT_ONCE)

    def runs_in_loop(self, call: Call) -> bool:
        """Whether it is a coroutine for the worker's own loop: then it needs nothing of `run`, and is spared what that costs."""
        plain = call.stage.runs_in_loop and call.stage.kind is not Kind.SPLIT
        return plain and not call.stage.isolate and not self._is_suspect(call)

    async def run(self, call: Call) -> Settlement:
        """One attempt from start to settlement; of a split that gave many items, with these written."""
        settlement = await self._run_in_turn(call)
        call.time.end()
        if settlement.spool is None or settlement.spool.fits_one_chunk:
            return settlement
        return await self._write(call, settlement)

    async def _write(self, call: Call, one: Settlement) -> Settlement:
        """Write many items beside the turns of the worker, which must not wait for them; the item is still leased meanwhile."""
        assert one.spool is not None
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                written = await asyncio.wrap_future(
                    self.threads.submit(lambda: write_split(call.store, call.row.plan, one, call.work._stop.is_set))
                )
                return one if written else call.release()
            except asyncio.CancelledError:
                call.work._stop.set()
                one.spool.remove()
                raise
            except BadInput as problem:
                return refused(one, problem)
            except DatabaseProblem as problem:
                if problem.code == REFUSED:
                    return refused(one, problem)
                log.warning("%s Going on with the items of %s in %g s", problem, call.row.id, pause)
            except OSError as error:
                if (why := told(error)) is None:
                    raise
                log.warning("%s. Going on with the items of %s in %g s", why, call.row.id, pause)
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE_SECONDS, pause * 2)

    async def _run_in_turn(self, call: Call) -> Settlement:
        """A suspect waits for its turn, or is handed back unharmed."""
        if not self._is_suspect(call):
            return await self._run(call)
        try:
            async with asyncio.timeout(SUSPECT_WAIT_SECONDS):
                await self._suspects.acquire()
        except TimeoutError:
            return call.release()
        try:
            return await self._run(call)
        finally:
            self._suspects.release()

    async def run_errand(
        self, call: Call, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        """Run a plain function in a child process; so many at a time as there are cores, or as the settings say."""

        def run() -> Any:
            with Held(call.time) as held:
                return child.run(function, arguments, named, held.release, partial(self._ask_for_time, call))

        async with self._errands:
            child = self.children.take()
            try:
                found = await asyncio.wrap_future(self.threads.submit(run))
            except (ChildDied, asyncio.CancelledError):
                self.children.discard(child)
                raise
            except Unguarded as problem:
                self.children.discard(child)
                self._on_unguarded(problem)
                raise
            except BaseException:
                self.children.give_back(child)
                raise
            self.children.give_back(child)
            return found

    async def _run(self, call: Call) -> Settlement:
        try:
            if call.stage.isolate or self._is_suspect(call):
                try:
                    return await self._in_child(call)
                except Unguarded as problem:
                    self._unguarded = problem
                    if call.stage.isolate:
                        self._on_unguarded(problem)
                        return call.release()
            if not call.stage.runs_in_loop:
                return await self._in_thread(call)
            call.time.begin()
            return await call.run_async()
        except ChildDied as death:
            return call.lose(death)

    def close(self) -> None:
        """End idle threads and all child processes."""
        self.threads.close()
        self.children.close()

    def _is_suspect(self, call: Call) -> bool:
        """Whether the item was running when a process died, more than once, and may have been the reason."""
        if call.claimed.crashes < SUSPECT_CRASHES or call.stage.isolate or self._unguarded is not None:
            return False
        return call.stage.can_be_isolated and is_reachable(call.stage)

    async def _in_thread(self, call: Call) -> Settlement:
        def run() -> Settlement:
            call.time.begin()  # Not before: it may have waited for a thread.
            call.outcome = call.run_sync()
            return call.outcome

        try:
            settlement: Settlement = await asyncio.wrap_future(self.threads.submit(run))
        except asyncio.CancelledError:
            call.work._stop.set()
            raise
        return settlement

    async def _in_child(self, call: Call) -> Settlement:
        child = self.children.take()

        def run() -> Settlement:
            call.outcome = child.call(call, call.time.begin, partial(self._ask_for_time, call))
            return call.outcome

        try:
            settlement: Settlement = await asyncio.wrap_future(self.threads.submit(run))
        except BaseException:
            self.children.discard(child)
            self.threads.submit(lambda: _tell_external_jobs(call))
            raise
        self.children.give_back(child)
        return settlement

    def _ask_for_time(self, call: Call) -> None:
        """A child takes long to start: the sweep, which knows the time limit only, must not take the item for one that hangs."""
        seconds = call.store.settings.child_start_seconds
        what = f"{call.stage.name} {call.claimed.key} of {call.row.id}"
        log.warning("The child process for %s takes long to start; it has %g s for that", what, seconds)
        try:
            call.store.transact(lambda tx: tx.settling.put_off_deadline(call.claimed.id, call.claimed.lease, seconds))
        except DatabaseProblem as problem:
            log.warning("Could not ask for more time for %s: %s", what, problem)


def _tell_external_jobs(call: Call) -> None:
    """Say that the process which was starting external jobs for this attempt is gone, though its worker lives.

    Else the next attempt would wait for a call that nobody makes. What the process wrote before it was killed stays.
    """
    try:
        call.store.transact(lambda tx: tx.externals.cut_off(call.claimed.id, call.claimed.lease))
    except DatabaseProblem as problem:
        log.warning("Could not say that the child process of %s is gone: %s", call.row.id, problem)
