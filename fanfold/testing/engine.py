"""The engine for tests: the real one, on a database in memory, with a clock that the test turns and answers that it scripts.

from fanfold.testing import Engine, rate_limited

def test_a_rate_limit_costs_time_and_nothing_else():
    with Engine() as engine:
        engine.answers(rate_limited(after=30), "Hello")
        task = engine.submit(book, "novel.txt")
        engine.run()
        assert engine.task(task).state == "completed"
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Sequence
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec

from fanfold.engine.client import Client
from fanfold.engine.tasks.recovery.sweep import close, recover_if_due
from fanfold.engine.worker.loop import refuse_in_loop
from fanfold.model.item import Claimed, Item, ItemDetail
from fanfold.model.pipelines.pipeline import Pipeline, Target, as_pipeline
from fanfold.model.task import Event, Task, TaskRow
from fanfold.providers.services import Request
from fanfold.settings import Settings
from fanfold.store.rows.answers import CallRow
from fanfold.store.store import Store
from fanfold.testing import memory
from fanfold.testing.answers import Answering, Fits, Rule, Script
from fanfold.testing.clock import Clock
from fanfold.testing.points import AFTER_SETTLE, BEFORE_HANDLER, BEFORE_SETTLE, Point, WorkerCrashed
from fanfold.testing.worker import SteppedWorker, WorkerStore

Given = ParamSpec("Given")
MOST_ATTEMPTS = 10_000
A_MOMENT = 0.001
"""Seconds by which the clock is turned beyond a time that must be over."""


class NeverAtRest(AssertionError):
    """A run did not come to an end: something is tried again and again."""


def _submitting(
    submit: Callable[Concatenate[Client, Target, Given], Task],
) -> Callable[Concatenate[Engine, Target, Given], Task]:
    """The client's ``submit``, with a pipeline that workers then serve."""

    @wraps(submit)
    def submit_and_serve(engine: Engine, pipeline: Target, /, *given: Given.args, **named: Given.kwargs) -> Task:
        engine.know(pipeline)
        return submit(engine.client, pipeline, *given, **named)

    return submit_and_serve


class Engine:
    """One installation for one test: submit, script, run, look. Use it in a ``with`` block, or as the fixture `engine`.

    ``settings`` are those of an installation, such as ``crash_limit=2``; the environment is not read.
    """

    def __init__(self, *pipelines: Target, **settings: Any) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fanfold-testing-")
        self.settings = Settings(**{"database": "sqlite://", "data": self._folder.name, **settings})
        self._memory = memory.take()
        self.store = Store(self.settings, database=self._memory.database)
        self.client = Client(store=self.store)
        """Every question and command of an installation."""
        self._pipelines: dict[str, Pipeline] = {}
        self._names = (f"worker-{number}" for number in itertools.count(1))
        self._worker: SteppedWorker | None = None
        self._crashed: list[SteppedWorker] = []
        self._points: list[Point] = []
        self._script = Script(self._crash_here)
        for pipeline in pipelines:
            self.know(pipeline)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers and forget everything."""
        self._end_worker()
        memory.give_back(self._memory)
        self._folder.cleanup()

    @property
    def clock(self) -> Clock:
        """The time of this test; ``clock.advance(3600)`` lets an hour pass."""
        return self._memory.clock

    def know(self, pipeline: Target) -> None:
        """Have workers serve a pipeline; it takes the place of one with the same name, as when its code has changed."""
        found = as_pipeline(pipeline)
        if self._pipelines.get(found.name) is not found:
            self._pipelines[found.name] = self.client.pipelines[found.name] = found
            self._end_worker()

    submit = _submitting(Client.submit)

    def answer(self, answer: Answering, *, to: Fits = None, model: str | None = None) -> None:
        """Say the same to every question, or to those that fit: ``to`` a text of the prompt, by a ``model``."""
        self._script.add(Rule(to, model, itertools.repeat(answer)))

    def answers(self, *answers: Answering, to: Fits = None, model: str | None = None) -> None:
        """Say these one after the other, each once. What is scripted first is used first."""
        self._script.add(Rule(to, model, iter(answers)))

    @property
    def requests(self) -> Sequence[Request]:
        """What models were asked, in order: ``prompt``, ``model``, ``system``, ``images`` and ``parameters`` of each."""
        return tuple(self._script.requests)

    def before_handler(
        self, *, stage: str | None = None, item: str | None = None, count: int = 1, times: int = 1
    ) -> Point:
        """When an item is claimed, and its handler is not called yet."""
        return self._point(BEFORE_HANDLER, stage, item, count, times)

    def before_settle(
        self, *, stage: str | None = None, item: str | None = None, count: int = 1, times: int = 1
    ) -> Point:
        """When a handler has returned or raised, and nothing of it is written yet."""
        return self._point(BEFORE_SETTLE, stage, item, count, times)

    def after_settle(
        self, *, stage: str | None = None, item: str | None = None, count: int = 1, times: int = 1
    ) -> Point:
        """When the end of an attempt is written, and no other item is claimed yet. ``count=3``: after the third."""
        return self._point(AFTER_SETTLE, stage, item, count, times)

    def _point(self, moment: str, stage: str | None, item: str | None, count: int, times: int) -> Point:
        point = Point(self, moment, stage, item, count, times)
        self._points.append(point)
        return point

    def crash(self) -> None:
        """Let the worker die where it is; only inside a run."""
        raise self._crash_here()

    def _crash_here(self) -> BaseException:
        worker = self._worker
        assert worker is not None, "a worker can only crash while it runs"
        worker.store.crashed = True
        return WorkerCrashed()

    def run(self, *, turn_clock: bool = True, attempts: int = MOST_ATTEMPTS) -> None:
        """Work until nothing is left to do. The clock is turned to what waits: back-offs, external jobs, lost leases.

        A worker that crashes is followed by another one. ``turn_clock=False`` ends when nothing is due now. NeverAtRest
        after so many ``attempts``.
        """
        refuse_in_loop("Engine.run", "await asyncio.to_thread(engine.run)")
        if self._worker is not None:
            self._worker.claimer.look_again()
        for _ in range(attempts):
            if not self._attempt() and not self._go_on(turn_clock):
                return
            if (problem := self._script.take_problem()) is not None:
                raise problem
        raise NeverAtRest(f"There was still something to do after {attempts} attempts. {self._left()}")

    def _attempt(self) -> bool:
        """Claim an item, call its handler and settle it; False when nothing is due."""
        worker = self._worker = self._worker or self._new_worker()
        try:
            claimed = worker.claim()
            if claimed is None:
                return False
            self._reach(BEFORE_HANDLER, *claimed)
            settlement = worker.call(*claimed)
            if not worker.store.crashed:
                self._reach(BEFORE_SETTLE, *claimed)
                worker.settle(settlement, at_once=any(point.moment == AFTER_SETTLE for point in self._points))
                self._reach(AFTER_SETTLE, *claimed)
        except WorkerCrashed:
            worker.store.crashed = True
        if worker.store.crashed:
            self._note_crash(worker)
        return True

    def _go_on(self, turn_clock: bool) -> bool:
        """Recover what is lost, as every worker does now and then, and turn the clock; False when there is nothing left."""
        worker = self._worker
        assert worker is not None, "nothing was due for a worker"
        if self._crashed and self._recover(worker):
            return True
        if turn_clock and self._turn_clock(worker):
            return True
        return close(worker.store, self._pipelines, worker.name) > 0  # A move that the pipeline's on_move has refused.

    def _reach(self, moment: str, row: TaskRow, claimed: Claimed) -> None:
        for point in self._points:
            point.reach(moment, row, claimed)

    def _new_worker(self) -> SteppedWorker:
        store = WorkerStore(self.settings, self._memory.database)
        return SteppedWorker(store, next(self._names), self._pipelines, self.clock, self._script)

    def _note_crash(self, worker: SteppedWorker) -> None:
        worker.end()
        worker.crashed_at = self.clock.seconds
        self._crashed.append(worker)
        self._worker = None

    def _end_worker(self) -> None:
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def _recover(self, worker: SteppedWorker) -> bool:
        worker.beat()
        return recover_if_due(worker.store, self._pipelines, worker.name, force=True)

    def _turn_clock(self, worker: SteppedWorker) -> bool:
        """Turn the clock to the next moment at which something happens; False when nothing will."""
        soon = worker.claimer.seconds_to_next
        seconds = [] if soon is None else [soon]
        self._crashed = [dead for dead in self._crashed if dead.holds_items(self.store)]
        seconds += [dead.crashed_at + self.settings.lease_seconds - self.clock.seconds for dead in self._crashed]
        if not seconds:
            return False
        self.clock.advance(max(0.0, min(seconds)) + A_MOMENT)
        return True

    def _left(self) -> str:
        tasks = (f"{task.id} is {task.status}, {task.open} open" for task in self.client.list())
        return "; ".join(tasks)

    def task(self, task: Task | str) -> Task:
        """A task as it is now."""
        return self.client.get(_id(task))

    def result(self, task: Task | str) -> Any:
        """What the task made; TaskStopped when it is not completed."""
        return self.client.result(_id(task))

    def items(self, task: Task | str, stage: str | None = None) -> list[Item]:
        """The first thousand items of a stage, by default of the one that people count."""
        return self.client.items(_id(task), stage=stage, limit=1_000)

    def item(self, task: Task | str, key: str, stage: str | None = None) -> ItemDetail:
        """One item with its input, its output, its errors and its attempts."""
        return self.client.item(_id(task), key, stage)

    def events(self, task: Task | str) -> list[Event]:
        """What happened to the task, the first event first."""
        return self.client.events(_id(task))

    def calls(self, task: Task | str, key: str | None = None) -> list[CallRow]:
        """The calls to models of a task, or of one of its items, with what each cost."""
        return self.client.calls(_id(task), key)

    def cost(self, task: Task | str) -> float:
        """What the task has spent on models, in US dollars."""
        return self.task(task).spending.cost


def _id(task: Task | str) -> str:
    return task if isinstance(task, str) else task.id
