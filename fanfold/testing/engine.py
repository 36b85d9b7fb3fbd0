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
from dataclasses import replace
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec

from fanfold.engine.client import Client
from fanfold.engine.worker.loop import refuse_in_loop
from fanfold.model.item import Item, ItemDetail
from fanfold.model.pipelines.pipeline import Target, as_pipeline
from fanfold.model.task import Event, Task
from fanfold.providers.services import Request
from fanfold.settings import Settings
from fanfold.store.dialects.in_memory import MEMORY_URL
from fanfold.store.rows.answers import CallRow
from fanfold.store.store import Store
from fanfold.testing import memory
from fanfold.testing.answers import Answering, Fits, Rule
from fanfold.testing.clock import Clock
from fanfold.testing.points import AFTER_SETTLE, BEFORE_HANDLER, BEFORE_SETTLE, Point
from fanfold.testing.steps import Steps

Given = ParamSpec("Given")
MOST_ATTEMPTS = 2_000


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
        given = Settings(**settings)
        self._folder = tempfile.TemporaryDirectory(prefix="fanfold-testing-")
        self.settings = replace(given, database=MEMORY_URL, data=self._folder.name)
        self._memory = memory.take()
        self.store = Store(self.settings, database=self._memory.database)
        self.client = Client(store=self.store)
        """Every question and command of an installation."""
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
        """End the workers and forget everything."""
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
        """Have workers serve a pipeline; it takes the place of one with the same name, as when its code has changed."""
        found = as_pipeline(pipeline)
        self.client.pipelines[found.name] = found
        self._steps.know(found)

    submit = _submitting(Client.submit)

    def answer(self, answer: Answering, *, to: Fits = None, model: str | None = None) -> None:
        """Say the same to every question, or to those that fit: ``to`` a text of the prompt, by a ``model``."""
        self._steps.script.add(Rule(to, model, itertools.repeat(answer)))

    def answers(self, *answers: Answering, to: Fits = None, model: str | None = None) -> None:
        """Say these one after the other, each once. What is scripted first is used first."""
        self._steps.script.add(Rule(to, model, iter(answers)))

    @property
    def requests(self) -> Sequence[Request]:
        """What models were asked, in order: ``prompt``, ``model``, ``system``, ``images`` and ``parameters`` of each."""
        return tuple(self._steps.script.requests)

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
        self._steps.points.append(point)
        return point

    def crash(self) -> None:
        """Let the worker die where it is; only inside a run."""
        raise self._steps.crash()

    def run(self, *, turn_clock: bool = True, attempts: int = MOST_ATTEMPTS) -> None:
        """Work until nothing is left to do. The clock is turned to what waits: back-offs, external jobs, lost leases.

        A worker that crashes is followed by another one. ``turn_clock=False`` ends when nothing is due now. NeverAtRest
        after so many ``attempts``.
        """
        refuse_in_loop("Engine.run", "await asyncio.to_thread(engine.run)")
        if not self._steps.run(turn_clock, attempts):
            allows = f"There was still something to do after {attempts} attempts; run(attempts=…) allows more."
            raise NeverAtRest(f"{allows} {self._left()}")

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
