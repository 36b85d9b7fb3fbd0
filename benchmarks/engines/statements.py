"""Times raw statements: processes that claim and finish, started at the same moment and counted together."""

from __future__ import annotations

import multiprocessing
import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.engines.engine import Engine, Run, demand

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Barrier

PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Worked:
    """What one process did."""

    items: int
    began_at: float
    ended_at: float


class Statements(Engine):
    """No engine at all: only what it would have to ask of its database."""

    @property
    def batch(self) -> int:
        """Items per claim."""
        return int(self.contestant.options["batch"])

    @abstractmethod
    def work(self, ready: Callable[[], object]) -> Worked:
        """In a process of its own: connect, say so, then claim and finish until nothing is left."""

    def commands(self) -> list[list[str]]:
        """Its processes are forks of this one."""
        return []

    def run(self, scenario: str, items: int) -> Run:
        """Create, work off, count."""
        self.prepare()
        began = time.monotonic()
        self.enqueue(items)
        created = time.monotonic()
        self.before_work()
        worked = self.together()
        demand("items were finished", sum(one.items for one in worked), items)
        demand("results are in the store", self.finished(), items)
        seconds = max(one.ended_at for one in worked) - min(one.began_at for one in worked)
        return Run(items, create_seconds=created - began, process_seconds=seconds)

    def together(self) -> list[Worked]:
        """All processes, started by one barrier."""
        forks = multiprocessing.get_context("fork")
        barrier, answers = forks.Barrier(self.processes), forks.Queue()
        children = [forks.Process(target=answer, args=(self, barrier, answers)) for _ in range(self.processes)]
        for child in children:
            child.start()
        worked: list[Worked] = [answers.get(timeout=PATIENCE_SECONDS) for _ in children]
        for child in children:
            child.join(PATIENCE_SECONDS)
        return worked


def answer(statements: Statements, barrier: Barrier, answers: Queue[Worked]) -> None:
    """The body of a child."""
    answers.put(statements.work(barrier.wait))
