"""`run`: runs a pipeline in this process until its task is over. Running it again resumes the same task."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from fanfold.engine.client import Client
from fanfold.engine.tasks.recovery.sweep import close, recover
from fanfold.engine.tasks.submitting import inputs as given
from fanfold.engine.tasks.submitting.submission import Submission, check_items, check_mapping
from fanfold.engine.tasks.submitting.unlock import taken_out
from fanfold.engine.worker.loop import Worker, refuse_in_loop
from fanfold.engine.worker.processes.main_script import check_reachable
from fanfold.engine.worker.signals import heeded
from fanfold.errors import BadPipeline, TaskStopped
from fanfold.model.item import NewItem
from fanfold.model.lifecycle import TaskState
from fanfold.model.money.budgets import BudgetWish, wish
from fanfold.model.pipelines.pipeline import Pipeline, Target, TaskFunction, as_pipeline
from fanfold.running.budgets import apply_budget
from fanfold.running.follow import watch
from fanfold.running.signatures import RunParameters, shows_parameters_of
from fanfold.running.terminal.display import Display, display
from fanfold.running.terminal.exit_codes import Exit

if TYPE_CHECKING:
    from fanfold.model.task import Task

Returned = TypeVar("Returned")
AsyncTaskFunction = TaskFunction[..., Coroutine[Any, Any, Returned]]

QUIET_SECONDS = 0.3
"""Delay before the first display: until the worker is registered, the task would be shown as waiting for one."""
GO_ON = "Interrupted; run it again to resume"


@dataclass(frozen=True)
class RunWish:
    """The arguments of a run."""

    pipeline: Pipeline
    inputs: tuple[Any, ...] = ()
    items: list[Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    fresh: bool = False
    concurrency: int | None = None
    straight_through: bool = False
    budget: BudgetWish | None = None

    def key(self) -> str:
        """Idempotency key: the same pipeline, inputs and options find the same task."""
        found = given.check(self.inputs, text_is_path=not self.pipeline.calls_with_arguments)
        if self.items is not None:
            found.append({"items": [_keyed(item) for item in self.items]})
        stored, _ = taken_out(self.pipeline, self.options)
        return "run:" + given.fingerprint(self.pipeline.name, found, stored)


@dataclass(frozen=True)
class Job:
    """A run that is prepared but not started."""

    wanted: RunWish
    database: str | None
    data: str | None
    progress: bool

    def result(self, ending: RunStop) -> Any:
        """Run it with its own client and return the result."""
        with Client(self.database, self.data, pipelines=[self.wanted.pipeline]) as client:
            return client.result(run_task(client, self.wanted, progress=self.progress, ending=ending).id)


def prepared(
    pipeline: Target,
    *inputs: Any,
    items: Iterable[Any] | None = None,
    options: dict[str, Any] | None = None,
    database: str | None = None,
    data: str | None = None,
    fresh: bool = False,
    concurrency: int | None = None,
    straight_through: bool = False,
    progress: bool = True,
    budget: Any = None,
    strict_budget: bool = False,
    allow_unknown_cost: bool = False,
) -> Job:
    """Check the parameters shared by ``run`` and ``arun``."""
    check_reachable(as_pipeline(pipeline).stages.values())
    check_items(items)
    check_mapping({} if options is None else options, "options")
    known = None if items is None else list(items)
    spending = wish(budget, strict=strict_budget, allow_unknown_cost=allow_unknown_cost)
    found = as_pipeline(pipeline)
    wanted = RunWish(found, inputs, known, options or {}, fresh, concurrency, straight_through, spending)
    return Job(wanted, database, data, progress)


@overload
def run(function: AsyncTaskFunction[Returned], /, *inputs: Any, **named: Unpack[RunParameters]) -> Returned: ...
@overload
def run(function: TaskFunction[..., Returned], /, *inputs: Any, **named: Unpack[RunParameters]) -> Returned: ...
@overload
def run(pipeline: Pipeline, /, *inputs: Any, **named: Unpack[RunParameters]) -> Any: ...
@shows_parameters_of(prepared)
def run(*arguments: Any, **named: Any) -> Any:
    """Run a pipeline in this process and return its result. Interrupt it, call it again, and it resumes.

    The same pipeline, inputs and options mean the same task: a finished task returns its result again, and a task that
    stopped with failures retries them. ``fresh=True`` starts a new task. ``budget`` is what models may cost, in US dollars.
    TaskStopped says why there is no result, and the way out. Blocks until the task is over; in a running event loop (a
    notebook, an `async def`) use ``await arun(…)``.
    """
    refuse_in_loop("fanfold.run", "await fanfold.arun(…), with the same arguments")
    return prepared(*arguments, **named).result(RunStop())


class RunStop:
    """Ends a run from another thread."""

    def __init__(self) -> None:
        self._is_set = False
        self._act: Callable[[], None] | None = None

    def set(self) -> None:
        """Hand back running items and stop, now or as soon as the work begins."""
        self._is_set = True
        if self._act is not None:
            self._act()
            self._act()

    def call(self, act: Callable[[], None]) -> None:
        """Register ``act``, which stops the work immediately when called twice."""
        self._act = act
        if self._is_set:
            self.set()


def run_task(client: Client, wanted: RunWish, *, progress: bool = True, ending: RunStop | None = None) -> Task:
    """Start or resume the task of ``wanted`` and run it until completed. Raises TaskStopped if it ends otherwise."""
    shown = display(wanted=progress)
    try:
        task = begin(client, wanted, shown)
        while task.state is TaskState.ACTIVE and not task.stalled:
            task = work(client, wanted, task, shown, ending or RunStop())
            if task.state is TaskState.WAITING and wanted.straight_through:
                task = client.resume(task.id)
    finally:
        shown.close()
    if task.state is not TaskState.COMPLETED:
        raise TaskStopped(way_out(task), task_id=task.id, state=task.state)
    return task


def begin(client: Client, wanted: RunWish, shown: Display) -> Task:
    """The task to work on: a new one, or the existing one made ready to resume."""
    key = wanted.key()
    with client.store.read() as tx:
        before = tx.tasks.by_key("", key)
    if before is not None and wanted.fresh:
        with client.store.write() as tx:
            tx.tasks.drop_key(before.number)
    if before is None or wanted.fresh:
        submission = Submission(
            wanted.inputs, wanted.items, wanted.options, key=key, straight_through=wanted.straight_through,
            actor=client.actor, budget=wanted.budget,
        )  # fmt: skip
        return client.submit_or_find(wanted.pipeline, submission)[0]
    task = client.get(before.id)
    gone = [stage.name for stage in before.plan.stages if wanted.pipeline.find(stage.name) is None]
    if gone and task.state is not TaskState.COMPLETED:
        raise BadPipeline(
            f"Task {task.id} was started with the stage {', '.join(gone)}, which {wanted.pipeline.name} no longer has. "
            "To start over: --fresh (fresh=True)"
        )
    return go_on(client, task, wanted, shown)


def go_on(client: Client, task: Task, wanted: RunWish, shown: Display) -> Task:
    """Make an existing task runnable again, if necessary."""
    if task.state is TaskState.COMPLETED:
        shown.say(f"Already done as {task.id}. To run it again: --fresh (in Python: fresh=True)")
        return task
    if task.state is TaskState.WAITING and not wanted.straight_through:
        return task
    task = apply_budget(client, task, wanted.budget)
    done = f", {task.done} of {task.total} done" if task.total > 1 else ""
    shown.say(f"Resuming {task.id}: {task.status}{done}")
    if task.state in (TaskState.PAUSED, TaskState.WAITING):
        return client.resume(task.id)
    if task.finished:
        return client.retry(task.id)
    return task


def work(client: Client, wanted: RunWish, task: Task, shown: Display, ending: RunStop) -> Task:
    """Work in this process until the task is no longer active. Raises KeyboardInterrupt if a signal comes first."""
    # The last run may have been killed: reclaim its items now instead of at the next sweep.
    recover(client.store, "run")
    close(client.store, client.pipelines, "run")
    worker = Worker([wanted.pipeline], store=client.store, concurrency=wanted.concurrency, name="run")
    for sentence in worker.capped:
        shown.say(sentence)
    watcher = RunWatcher(client, task, shown, worker)
    watcher.start()
    ending.call(watcher.interrupt)
    try:
        with heeded(watcher.interrupt):
            worker.run(exit_code=Exit.INTERRUPTED)
    finally:
        watcher.leave()
    if watcher.problem is not None:
        raise watcher.problem
    if watcher.task is None or (watcher.task.state is TaskState.ACTIVE and not watcher.task.stalled):
        raise KeyboardInterrupt(GO_ON)
    return watcher.task


class RunWatcher(threading.Thread):
    """Shows the task while the worker runs, and stops the worker when the task is over."""

    def __init__(self, client: Client, task: Task, shown: Display, worker: Worker) -> None:
        super().__init__(name="run-watcher", daemon=True)
        self.client = client
        self.shown = shown
        self.worker = worker
        self.task_id = task.id
        self.task: Task | None = None
        self.problem: BaseException | None = None
        self._left = threading.Event()
        self._interrupts = 0
        self._said = False

    def run(self) -> None:
        """Watch until the task is over or the worker has stopped."""
        try:
            self.task = watch(
                self.client, self.task_id, self.shown, self._enough, quiet_seconds=QUIET_SECONDS, patient=True
            )
        except BaseException as problem:
            self.problem = problem
        # Two calls stop it immediately: items of other tasks that it may be running are handed back.
        self.worker.stop()
        self.worker.stop()

    def interrupt(self) -> None:
        """Handle a signal: stop the worker gracefully, or immediately on the second. The watcher thread prints the message."""
        self._interrupts += 1
        self.worker.stop()

    def _enough(self, _seconds: float) -> bool:
        if self._interrupts and not self._said:
            self._said = True
            self.shown.say("Stopping; interrupt again to stop immediately")
        return self._left.is_set()

    def leave(self) -> None:
        """Stop watching."""
        self._left.set()
        self.join()


def way_out(task: Task) -> str:
    """Why a run ended without a result, and what to do about it."""
    if task.state in (TaskState.WAITING, TaskState.PAUSED):
        paused = f"is {task.wait_reason or 'paused'}".rstrip(".")
        what = paused if task.state is TaskState.PAUSED else str(task.wait_reason)
        return f"Task {task.id} {what}. To continue: fanfold resume {task.id}, then run it again"
    if task.stalled:
        ways = [f"Once that is fixed: fanfold retry {task.id}, then run it again"]
        if "merge" in task.available_commands:
            ways.append(f"to merge without them: fanfold merge {task.id}, then run it again")
        seen = f"To see them: fanfold items {task.id} --state waiting"
        return f"Task {task.id}: {str(task.wait_reason).rstrip('.')}. {seen}. {'; '.join(ways)}"
    why = f": {task.error_message.rstrip('.')}" if task.error_message else ""
    ways = [f"For details: fanfold show {task.id}", "to retry: run it again"]
    if task.state is TaskState.PARTIAL and "merge" in task.available_commands:
        ways.append(f"to merge without the failed items: fanfold merge {task.id}")
    return f"Task {task.id} ended as {task.state}{why}. {'; '.join(ways)}"


def _keyed(item: Any) -> Any:
    return {"key": item.key, "input": item.input} if isinstance(item, NewItem) else item
