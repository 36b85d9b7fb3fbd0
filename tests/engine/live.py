"""Runs a real worker in a thread, with its own clock and patience."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from fanfold.engine.worker.loop import Worker
from fanfold.model.lifecycle import FINISHED_TASKS
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import Task
from fanfold.store.schema.tables import tasks
from tests.installation import Installation, number_of
from tests.waiting import eventually

QUICK = {
    "poll_seconds": 0.1,
    "heartbeat_seconds": 1.0,
    "look_seconds": 0.05,
    "sweep_seconds": 0.5,
    "grace_seconds": 20.0,
}

STATE = sa.select(tasks.c.state).where(tasks.c.number == sa.bindparam("wanted"))

STAYS_SECONDS = 3.0
"""A task that has ended otherwise than expected may still be steered on by another thread of its test."""


class Live(Installation):
    """An installation with real time and real workers."""

    def __init__(self, url: str, folder: Path, **settings: Any) -> None:
        super().__init__(url, folder, None, **{**QUICK, **settings})

    @contextmanager
    def working(self, *pipelines: Pipeline, **how: Any) -> Iterator[Worker]:
        """A worker that works meanwhile, and is stopped afterwards, whatever it still runs."""
        worker = Worker(pipelines or self.pipelines, store=self.store, **how)
        problems: list[BaseException] = []

        def run() -> None:
            try:
                worker.run()
            except BaseException as problem:
                problems.append(problem)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield worker
        finally:
            worker.stop()
            worker.stop()
            thread.join(100)
        assert not thread.is_alive()
        assert problems == []

    def until(self, task: Task, state: str, seconds: float = 60.0) -> Task:
        """The task as soon as it is in this state. A failure at once if it has ended in another one, and stays there."""
        ended_at: float | None = None
        number = number_of(self, task)

        def is_there() -> bool:
            nonlocal ended_at
            found = self.state(number)
            if found == state or found not in FINISHED_TASKS:
                ended_at = None
                return found == state
            ended_at = ended_at or time.monotonic()
            if time.monotonic() > ended_at + STAYS_SECONDS:
                raise AssertionError(f"{found} instead of {state}\n{self.told(task)}")
            return False

        eventually(is_there, seconds, state=lambda: self.told(task))
        return self.client.get(task.id)

    def state(self, number: int) -> str:
        """The state of a task, read cheaply: polling must not slow down the work."""
        with self.store.read() as tx:
            return str(tx.connection.execute(STATE, {"wanted": number}).scalar_one())

    def item_is(self, task: Task, state: str, seconds: float = 60.0) -> None:
        """Wait until the first item of the counted stage is in this state."""
        eventually(lambda: self.states(task).split()[:1] == [state], seconds, state=lambda: self.told(task))

    def told(self, task: Task) -> str:
        """The task, its items and its last events, for the message of a failing test."""
        items = [
            f"{item.key}: {item.state} {item.error_message or ''}" for item in self.client.items(task.id, limit=20)
        ]
        events = [str(event) for event in self.client.events(task.id, limit=1_000)[-20:]]
        return "\n".join([str(self.client.get(task.id)), *items, *events])


class Switch:
    """Something a handler waits for and a test turns on."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.free = threading.Event()
        self.left = threading.Event()

    def wait(self) -> None:
        """Say that one is here, and stay until one may go."""
        self.entered.set()
        self.free.wait(60)
        self.left.set()

    async def wait_deaf(self) -> None:
        """The same in a coroutine, which ignores that it is cancelled."""
        self.entered.set()
        while not self.free.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)

    def check(self, condition: Callable[[], bool] | None = None) -> None:
        """Wait until a handler is here."""
        assert self.entered.wait(60)
        assert condition is None or condition()
