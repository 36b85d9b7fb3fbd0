"""Real worker processes for tests. They poll often, and can be killed, stopped and counted."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from fanfold.engine.client import Client
from fanfold.model.lifecycle import FINISHED_TASKS
from fanfold.model.task import Task
from fanfold.settings import load
from fanfold.store.items.query import ItemRow
from fanfold.store.schema.tables import tasks
from fanfold.store.store import Store
from tests.acceptance import work

ROOT = Path(__file__).parents[2]
SHORT = {
    "FANFOLD_LEASE_SECONDS": "60",
    "FANFOLD_HEARTBEAT_SECONDS": "0.5",
    "FANFOLD_LOOK_SECONDS": "0.2",
    "FANFOLD_SWEEP_SECONDS": "0.5",
    "FANFOLD_POLL_SECONDS": "0.5",
    "FANFOLD_GRACE_SECONDS": "2",
}
"""Look often, so that little is waited for. The lease is long: a busy machine may not run a worker for many seconds, and a test
that demands that no item runs twice must not depend on it. The death of a process on this machine is seen without its lease."""
BRIEF_LEASE = {"FANFOLD_LEASE_SECONDS": "3"}
"""Only for tests in which leases are lost. On a busy machine a live worker may lose such a lease too."""


def patiently(condition: Callable[[], object], seconds: float, tell: Callable[[], str] = str) -> None:
    """Wait for a condition with few polls: on two cores, polling must not slow down the work."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds:g} s: {condition} {tell()}"
        time.sleep(0.05)


class Fleet:
    """Processes that work on one database; the remaining ones are killed at the end."""

    def __init__(self, url: str, folder: Path, environment: dict[str, str]) -> None:
        self.url = url
        self.folder = folder
        self.log = folder / "calls.log"
        self.environment = environment | {"FANFOLD_DATABASE": url, "FANFOLD_DATA": str(folder / "data")}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.store = Store.open(load(self.environment, folder))
        self.client = Client(store=self.store)

    def worker(self, pipeline: str, concurrency: int = 8, **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker for one pipeline of `work`."""
        target = f"{work.__name__}:{pipeline}"
        return self.run("-m", "fanfold.cli", "worker", target, "--concurrency", str(concurrency), **environment)

    def run(self, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start any Python process with this fleet's database."""
        number = len(self.processes) + 1
        with (self.folder / f"process-{number}.log").open("wb") as sink:
            process = subprocess.Popen(
                [sys.executable, *words],
                cwd=ROOT,
                env={**os.environ, **self.environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        self.processes.append(process)
        return process

    def said(self) -> str:
        """The output of all processes, for the message of a failure."""
        texts = [path.read_text(errors="replace")[-3_000:] for path in sorted(self.folder.glob("process-*.log"))]
        return "\n---\n".join(texts)[-20_000:]

    def until(self, task: str, *states: str, seconds: float = 100.0) -> Task:
        """Wait for a task to be in one of these states, by default completed."""
        number, wanted = self.number(task), states or ("completed",)

        def arrived() -> bool:
            state = self.state(number)
            return state in wanted or state in FINISHED_TASKS

        patiently(arrived, seconds, lambda: f"{self.client.get(task)}\n{self.said()}")
        found = self.client.get(task)
        assert found.state in wanted, f"{found}\n{self.said()}"
        return found

    def state(self, number: int) -> str:
        """The state of a task, read cheaply."""
        with self.store.read() as tx:
            return str(tx.connection.execute(sa.select(tasks.c.state).where(tasks.c.number == number)).scalar_one())

    def calls(self, word: str = "start") -> dict[str, list[tuple[int, str, int]]]:
        """The calls that handlers recorded: key → (attempt, token, process), in order."""
        found: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
        whole, _, _being_written = (self.log.read_text() if self.log.exists() else "").rpartition("\n")
        for line in whole.splitlines():
            what, key, attempt, token, pid = line.split(" ")
            if what == word:
                found[key].append((int(attempt), token, int(pid)))
        return found

    def number(self, task: str) -> int:
        """The task's number in the database."""
        with self.store.read() as tx:
            return tx.tasks.resolve(task).number

    def open_tasks(self, up_to: int) -> int:
        """How many tasks up to this number are not finished."""
        with self.store.read() as tx:
            wanted = sa.select(sa.func.count()).where(tasks.c.number <= up_to, tasks.c.finished_at.is_(None))
            return int(tx.connection.execute(wanted.select_from(tasks)).scalar_one())

    def rows(self, task: str, stage: str) -> list[ItemRow]:
        """All items of a stage as the database has them, outputs and leases included."""
        with self.store.read() as tx:
            return tx.reading.page(tx.tasks.resolve(task).number, stage=stage, limit=1_000_000)

    def output(self, row: ItemRow) -> Any:
        """The output of such a row."""
        return self.store.unfold(row.output)

    def close(self) -> None:
        """Kill what is left."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait(60)
        self.store.close()


@contextmanager
def fleet(url: str, folder: Path, **environment: str) -> Iterator[Fleet]:
    """A fleet whose workers look often."""
    made = Fleet(url, folder, SHORT | environment)
    try:
        yield made
    finally:
        made.close()


def check_events(client: Client, task: str) -> None:
    """The moves of a task form one chain from its submission to its current state."""
    moves = [event for event in client.events(task, limit=1_000_000) if event.item is None]
    assert (moves[0].verb, moves[0].source) == ("submit", None)
    for earlier, later in itertools.pairwise(moves):
        assert later.source == earlier.target, (earlier, later)
    assert moves[-1].target == client.get(task).state
