"""Drives Fanfold through its client, with workers started from the command line, on SQLite or PostgreSQL."""

from __future__ import annotations

import os
import sys

import fanfold as ff
from benchmarks.engines import tally, workload
from benchmarks.engines.engine import Engine, database_url, work_folder
from benchmarks.engines.servers import fresh_database

SETTLE_SECONDS = 30.0


class Fanfold(Engine):
    """Every run has leases, fencing, kept results and a merge that reads all of them."""

    client: ff.Client
    task: str | None = None

    def prepare(self) -> None:
        """An empty, migrated database; the workers find it in the environment."""
        url = f"sqlite:///{work_folder() / 'fanfold.db'}"
        if self.contestant.store == "PostgreSQL":
            url = database_url()
            fresh_database(url)
        os.environ |= {"FANFOLD_DATABASE": url, "FANFOLD_DATA": str(work_folder() / "data")}
        self.client = ff.Client()

    def commands(self) -> list[list[str]]:
        """`fanfold worker`, as often as there are to be processes."""
        target = f"{workload.__name__}:noop"
        words = ["-m", "fanfold.cli", "worker", target, "--concurrency", self.contestant.options["concurrency"]]
        return [[sys.executable, *words]] * self.processes

    def enqueue(self, count: int) -> None:
        """One task of this many items."""
        tally.forget()
        self.task = self.client.submit(workload.noop, items=range(count)).id

    def finished(self) -> int:
        """What the merge has counted, once the task is completed; looking at the database before would only disturb."""
        if not tally.fan_ins() or self.task is None:
            return 0
        self.client.wait(self.task, SETTLE_SECONDS, poll=0.005)
        return int(self.client.result(self.task))

    def fan_out(self, count: int) -> None:
        """The merge notes the fan-in."""
        self.enqueue(count)

    def close(self) -> None:
        """Close the client's connections."""
        self.client.close()


ENGINE = Fanfold
