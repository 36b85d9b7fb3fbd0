"""The engine for tests: the real one, on a database in memory, with a clock and answers that the test controls.

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
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec

from fanfold.engine.client import Client
from fanfold.engine.schedules import Schedules
from fanfold.engine.worker.loop import refuse_in_loop
from fanfold.errors import TaskStopped
from fanfold.model.item import Item, ItemDetail
from fanfold.model.lifecycle import FINISHED_TASKS, TaskState
from fanfold.model.pipelines.pipeline import Target, as_pipeline
from fanfold.model.schedule import Schedule
from fanfold.model.task import Event, Task
from fanfold.providers.services.service import Request
from fanfold.settings import Settings
from fanfold.store.dialects.in_memory import MEMORY_URL
from fanfold.store.rows.money.answers import CallRow
from fanfold.store.store import Store
from fanfold.testing import memory
from fanfold.testing.answers import Answering, Fits, Rule
from fanfold.testing.clock import Clock
from fanfold.testing.points import AFTER_SETTLE, BEFORE_HANDLER, BEFORE_SETTLE, Point
from fanfold.testing.steps import Steps

Given = ParamSpec("Given")
MOST_ATTEMPTS = 2_000
MOST_NAMED = 5
"""Most unfinished tasks that an error names."""


class NeverAtRest(AssertionError):
    """A run did not end: something is retried again and again. The message says which tasks are unfinished, and why."""


def _submitting(
    submit: Callable[Concatenate[Client, Target, Given], Task],
) -> Callable[Concatenate[Engine, Target, Given], Task]:
    """The client's ``submit``; workers then also serve the pipeline."""

    @wraps(submit)
    def submit_and_serve(engine: Engine, pipeline: Target, /, *given: Given.args, **named: Given.kwargs) -> Task:
        engine.know(pipeline)
        return submit(engine.client, pipeline, *given, **named)

    return submit_and_serve


class _ServedSchedules(Schedules):
    """The client's schedules; workers also serve the pipelines that are added."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.client)
        self._engine = engine

    def add(self, name: str, cron: str, pipeline: Target, *inputs: Any, **named: Any) -> Schedule:
        """The client's ``add``."""
        self._engine.know(pipeline)
        return super().add(name, cron, pipeline, *inputs, **named)


class Engine:
    """One installation for one test: submit, script, run, look. Use it in a ``with`` block, or as the fixture `engine`.

    ``settings`` are those of an installation, such as ``crash_limit=2``; environment variables are ignored.
    """

    def __init__(self, *pipelines: Target, **settings: Any) -> None:
        given = Settings(**settings)
        self._folder = tempfile.TemporaryDirectory(prefix="fanfold-testing-")
        self.settings = replace(given, database=MEMORY_URL, data=self._folder.name)
        self._memory = memory.take()
        self.store = Store(self.settings, database=self._memory.database)
        self.client = Client(store=self.store)
        """The client: every query and command of an installation."""
        self.client.schedules = _ServedSchedules(self)
        self._steps = Steps(self.store, self._memory)
        self._closed = False
        for pipeline in pipelines:
            self.know(pipeline)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers and delete everything."""
        if not self._closed:
            self._closed = True
            self._steps.end_worker()
            memory.give_back(self._memory)
            self._folder.cleanup()

    @property
    def clock(self) -> Clock:
        """The time of this test; ``clock.advance(3600)`` lets an hour pass."""
        return self._memory.clock

    def know(self, pipeline: Target) -> None:
        """Have workers serve a pipeline. It replaces one with the same name, as when its code has changed."""
        found = as_pipeline(pipeline)
        self.client.pipelines[found.name] = found
        self._steps.know(found)

    submit = _submitting(Client.submit)

    def answer(self, answer: Answering, *, to: Fits = None, model: str | None = None) -> None:
        """Give the same answer to every question, or to those that match: ``to`` is a text in the prompt, ``model`` a model."""
        self._steps.script.add(Rule(to, model, itertools.repeat(answer)))

    def answers(self, *answers: Answering, to: Fits = None, model: str | None = None) -> None:
        """Give these answers one after the other, each once. What is scripted first is used first."""
        self._steps.script.add(Rule(to, model, iter(answers)))

    @property
    def requests(self) -> Sequence[Request]:
        """The questions that models were asked: ``prompt``, ``model``, ``system``, ``images`` and ``parameters`` of each."""
        return tuple(self._steps.script.requests)

    def before_handler(
        self, *, stage: str | None = None, item: str | None = None, count: int = 1, times: int = 1
    ) -> Point:
        """The point after an item is claimed and before its handler is called."""
        return self._point(BEFORE_HANDLER, stage, item, count, times)

    def before_settle(
        self, *, stage: str | None = None, item: str | None = None, count: int = 1, times: int = 1
    ) -> Point:
        """The point after a handler has returned or raised and before anything of it is written."""
        return self._point(BEFORE_SETTLE, stage, item, count, times)

    def after_settle(
        self, *, stage: str | None = None, item: str | None = None, count: int = 1, times: int = 1
    ) -> Point:
        """The point after the end of an attempt is written and before another item is claimed. ``count=3``: after the third."""
        return self._point(AFTER_SETTLE, stage, item, count, times)

    def _point(self, moment: str, stage: str | None, item: str | None, count: int, times: int) -> Point:
        point = Point(self, moment, stage, item, count, times)
        self._steps.points.append(point)
        return point

    def crash(self) -> None:
        """Kill the worker here; allowed only inside a run."""
        raise self._steps.crash()

    def run(self, *, advance_clock: bool = True, seconds: float | None = None, attempts: int = MOST_ATTEMPTS) -> None:
        """Work until nothing is left to do. The clock advances to the next back-off, job, start time or lease that is awaited.

        ``seconds`` lets this much time pass and no more: the clock also stops at each due time of a schedule, which it does not
        otherwise advance to, because schedules never end. ``advance_clock=False`` ends the run when nothing is due now. What
        waits for a person, or for a subtask that does, is left as it is. A crashed worker is replaced by a new one. Raises
        NeverAtRest after ``attempts`` attempts.
        """
        refuse_in_loop("Engine.run", "await asyncio.to_thread(engine.run)")
        if not self._steps.run(_time_allowed(advance_clock, seconds), attempts):
            allows = f"There was still something to do after {attempts} attempts; run(attempts=…) allows more."
            raise NeverAtRest(f"{allows} {self._left()}")

    def _left(self) -> str:
        """The unfinished tasks, and what each waits for."""
        states = [state for state in TaskState if state not in FINISHED_TASKS]
        tasks = self.client.list(states=states, sort="oldest", limit=MOST_NAMED)
        return "; ".join(
            f"{task.id} ({task.pipeline}) is {task.status}, {task.open} open"
            + (f": {task.wait_reason}" if task.wait_reason else "")
            for task in tasks
        )

    def task(self, task: Task | str) -> Task:
        """A task as it is now."""
        return self.client.get(_id(task))

    def result(self, task: Task | str) -> Any:
        """The result of the task; TaskStopped if it is not completed, with a note of what is unfinished."""
        try:
            return self.client.result(_id(task))
        except TaskStopped as problem:
            if left := self._left():
                problem.add_note(f"Unfinished: {left}")
            raise

    def items(self, task: Task | str, stage: str | None = None) -> list[Item]:
        """The first thousand items of a stage; by default of the stage whose items people count."""
        return self.client.items(_id(task), stage=stage, limit=1_000)

    def item(self, task: Task | str, key: str, stage: str | None = None) -> ItemDetail:
        """One item with its input, its output, its errors and its attempts."""
        return self.client.item(_id(task), key, stage)

    def events(self, task: Task | str) -> list[Event]:
        """What happened to the task, oldest event first."""
        return self.client.events(_id(task))

    def calls(self, task: Task | str, key: str | None = None) -> list[CallRow]:
        """The calls to models of a task, or of one of its items, with the cost of each."""
        return self.client.calls(_id(task), key)

    def cost(self, task: Task | str) -> float:
        """What the task has spent on models, in US dollars."""
        return self.task(task).spending.cost


def _time_allowed(advance_clock: bool, seconds: float | None) -> float:
    """By how many seconds a run may advance the clock."""
    if seconds is None:
        return math.inf if advance_clock else 0.0
    if not advance_clock or not 0 <= seconds < math.inf:
        raise ValueError(f"seconds={seconds!r} must be a number from 0 on, without advance_clock=False.")
    return seconds


def _id(task: Task | str) -> str:
    return task if isinstance(task, str) else task.id
