"""Drives DBOS: one workflow per item on a queue; its system database is PostgreSQL or SQLite."""

# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator"

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import Any

from benchmarks.engines import tally
from benchmarks.engines.engine import Engine, Run, database_url, work_folder
from benchmarks.engines.servers import fresh_database

QUEUE, VERSION, POLL_SECONDS, CHUNK = "items", "1", 0.01, 1_000
DONE = "SELECT count(*) FROM {}workflow_status WHERE status = 'SUCCESS' AND name = 'noop'"


class DBOS(Engine):
    """A workflow that does nothing, and one that waits for many of them."""

    def run(self, scenario: str, items: int) -> Run:
        """A parent workflow occupies a thread while it waits: with a single thread it would wait forever."""
        options = dict(self.contestant.options)
        options["threads"] = options.get(f"{scenario} threads", options["threads"])
        os.environ["ENGINES_DBOS"] = json.dumps(options | {"url": self.url()})
        return super().run(scenario, items)

    def url(self) -> str:
        """Where it keeps its state."""
        return database_url() if self.contestant.store == "PostgreSQL" else f"sqlite:///{work_folder() / 'dbos.db'}"

    def prepare(self) -> None:
        """Its tables are made by its own launch, in a process of its own; then a client."""
        from dbos import DBOSClient

        if self.contestant.store == "PostgreSQL":
            fresh_database(database_url())
        subprocess.run([sys.executable, "-m", __name__, "once"], check=True, stdout=sys.stderr)
        self.client = DBOSClient(system_database_url=self.url())
        self.engine = self.client._sys_db.engine

    def commands(self) -> list[list[str]]:
        """This file, as a program."""
        return [[sys.executable, "-m", __name__]] * self.processes

    def enqueue(self, count: int) -> None:
        """A thousand per transaction."""
        for start in range(0, count, CHUNK):
            with self.engine.begin() as connection:
                for number in range(start, min(count, start + CHUNK)):
                    self.client.enqueue_in_transaction(connection, self.named("noop"), number)

    def finished(self) -> int:
        """Workflows whose success is recorded."""
        import sqlalchemy

        schema = "dbos." if self.contestant.store == "PostgreSQL" else ""
        with self.engine.connect() as connection:
            return int(connection.execute(sqlalchemy.text(DONE.format(schema))).scalar_one())

    def fan_out(self, count: int) -> None:
        """A parent workflow enqueues all, and waits for the result of each."""
        self.client.enqueue(self.named("parent"), count)

    def named(self, workflow: str) -> Any:
        """How a client names what is to run."""
        return {"queue_name": QUEUE, "workflow_name": workflow, "app_version": VERSION}

    def close(self) -> None:
        """Close the client's connections."""
        self.client.destroy()


ENGINE = DBOS


def launch() -> Any:
    """The application of a worker process."""
    from dbos import DBOS as Application

    options = json.loads(os.environ["ENGINES_DBOS"])
    Application(
        config={
            "name": "bench",
            "system_database_url": options["url"],
            "application_version": VERSION,
            "executor_id": os.environ.get("ENGINES_WORKER", "once"),
            "log_level": "WARNING",
            "max_executor_threads": int(options["threads"]),
        }
    )

    @Application.workflow(name="noop")
    def noop(number: int) -> int:
        tally.started()
        return 1

    @Application.workflow(name="parent")
    def parent(count: int) -> int:
        handles = [Application.enqueue_workflow(QUEUE, noop, number) for number in range(count)]
        seen = sum(handle.get_result() for handle in handles)
        tally.fanned_in(seen)
        return int(seen)

    Application.launch()
    concurrency = int(options["concurrency"]) if "concurrency" in options else None
    Application.register_queue(QUEUE, worker_concurrency=concurrency, polling_interval_sec=POLL_SECONDS)
    return Application


def main(once: bool) -> None:
    """Work until told to stop, or only make the tables."""
    application = launch()
    if once:
        application.destroy()
        return
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    stop.wait()
    os._exit(0)  # its threads would hold the process for a while


if __name__ == "__main__":
    main(sys.argv[1:] == ["once"])
