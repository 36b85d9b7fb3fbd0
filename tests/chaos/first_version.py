"""Writes rows as the first version of Fanfold did, and runs a worker like its own, with separate statements.

Nothing in here comes from the tables or verbs of today's code: a database that the first version left behind does not either.
`python -m tests.chaos.first_version URL NAME LOG SECONDS` works until it is told to stop.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from fanfold.store.database import Database
from tests.acceptance.work import note

STAGE = '{"name":"%s","kind":"%s","gate":false,"ready":"%s","doing":"%s","tolerate":0,"fail_fast":false,"weight":%d}'
STAGES = (
    STAGE % ("cut", "split", "pending", "splitting", 5),
    STAGE % ("work", "each", "processing", "processing", 90),
    STAGE % ("bind", "merge", "ready to merge", "merging", 5),
)
PLAN = f'{{"stages":[{",".join(STAGES)}],"on_failed":false,"on_cancelled":false,"mirrored":false}}'
"""The plan of `crowd`, as the first version kept it."""
BATCH = 4
BEAT_SECONDS = 0.5
NOW = {"sqlite": "((julianday('now') - 2440587.5) * 86400.0)", "postgresql": "statement_timestamp()"}
LOCKED = {"sqlite": "", "postgresql": "FOR UPDATE SKIP LOCKED"}
WANTED = (
    "EXISTS (SELECT tasks.number FROM tasks"
    " WHERE tasks.number = items.task AND tasks.state = 'active' AND tasks.stage = items.stage)"
)
CLAIM = f"""
    UPDATE items SET state = 'running', lease = items.lease + 1, worker = :worker, available_at = NULL, deadline_at = NULL,
        attempts = items.attempts + 1, started_at = <now>
    WHERE items.id IN (SELECT candidate.id FROM items AS candidate WHERE candidate.task = :task AND candidate.stage = 'work'
        AND candidate.state = 'pending' ORDER BY candidate.id LIMIT {BATCH} <locked>) AND {WANTED}
    RETURNING id, lease, key
"""
FINISH = f"""
    UPDATE items SET state = 'done', worker = NULL, deadline_at = NULL, finished_at = <now>
    WHERE items.id = :id AND items.lease = :lease AND items.state = 'running' AND {WANTED} RETURNING id
"""
KEEP = """
    INSERT INTO item_data (item, output, model, usage) VALUES (:item, :output, NULL, NULL)
    ON CONFLICT (item) DO UPDATE SET output = excluded.output, model = excluded.model, usage = excluded.usage
"""
REGISTER = """
    INSERT INTO workers (id, host, pid, serves, concurrency, running, stopping, done, failed, busy_seconds, started_at, seen_at)
    VALUES (:id, :host, :pid, '[["crowd", "work"]]', 4, :running, <false>, 0, 0, 0.0, <now>, <now> - <ago>)
"""
BEAT = "UPDATE workers SET running = :running, seen_at = <now> WHERE id = :id AND seen_at > <now> - <ago>"


class FirstVersion:
    """A database in the hands of the first version."""

    def __init__(self, url: str) -> None:
        self.database = Database(url)

    def run(self, statement: str, *, ago: float = 0.0, **values: Any) -> list[Any]:
        """One statement in a transaction of its own."""
        with self.database.write() as connection:
            return self.on(connection, statement, ago=ago, **values)

    def on(self, connection: sa.Connection, statement: str, *, ago: float = 0.0, **values: Any) -> list[Any]:
        """One statement in a transaction that is open."""
        kind = self.database.dialect.name
        span = f"{ago}" if kind == "sqlite" else f"make_interval(secs => {ago})"
        words = {"<now>": NOW[kind], "<locked>": LOCKED[kind], "<ago>": span, "<false>": "false"}
        for word, meaning in words.items():
            statement = statement.replace(word, meaning)
        result = connection.execute(sa.text(statement), values)
        return list(result) if result.returns_rows else []

    def task(self, name: str, state: str, stage: str, options: dict[str, Any]) -> int:
        """A task of `crowd` that was submitted and cut, and came to a stage and a state; returns its number."""
        ended = "<now>" if state in ("completed", "partial") else "NULL"
        (made,) = self.run(
            f"""
            INSERT INTO tasks (id, pipeline, title, state, stage, plan, input, options, extra, owner, priority, created_at,
                updated_at, started_at, finished_at)
            VALUES (:id, 'crowd', 'crowd', :state, :stage, :plan, '[]', :options, '{{}}', '', 0, <now>, <now>, <now>, {ended})
            RETURNING number
            """,
            id=name, state=state, stage=stage, plan=PLAN, options=json.dumps(options),
        )  # fmt: skip
        number = int(made.number)
        self.event(number, "submit", None, "active", "cut")
        self.event(number, "advance", "active", "active", "work")
        self.item(number, "cut", 1, None, "done", lease=1)
        return number

    def event(self, task: int, verb: str, source: str | None, target: str, stage: str) -> None:
        """A move of a task, as it was noted."""
        self.run(
            "INSERT INTO events (task, at, actor, verb, source, target, stage)"
            " VALUES (:task, <now>, 'first', :verb, :source, :target, :stage)",
            task=task, verb=verb, source=source, target=target, stage=stage,
        )  # fmt: skip

    def item(
        self,
        task: int,
        stage: str,
        seq: int,
        key: str | None,
        state: str,
        *,
        lease: int = 0,
        worker: str | None = None,
        **data: Any,
    ) -> int:
        """An item in a state, with what is known of it; one that waits for its time is due now."""
        times = {
            "available_at": "<now>" if state in ("retrying", "waiting") else "NULL",
            "started_at": "<now>" if lease else "NULL",
            "finished_at": "<now>" if state in ("done", "failed") else "NULL",
        }
        failures = 1 if state in ("retrying", "failed") else 0
        (made,) = self.run(
            f"""
            INSERT INTO items (task, stage, seq, key, state, lease, worker, attempts, failures, crashes, {", ".join(times)})
            VALUES (:task, :stage, :seq, :key, :state, :lease, :worker, {lease}, {failures}, 0, {", ".join(times.values())})
            RETURNING id
            """,
            task=task, stage=stage, seq=seq, key=key, state=state, lease=lease, worker=worker,
        )  # fmt: skip
        if data:
            values = ", ".join(f":{name}" for name in data)
            self.run(f"INSERT INTO item_data (item, {', '.join(data)}) VALUES (:item, {values})", item=made.id, **data)
        return int(made.id)

    def worker(self, name: str, pid: int, *, host: str, seen_ago: float = 0.0, running: int = 0) -> None:
        """A worker that registered, and was last seen this many seconds ago."""
        self.run(REGISTER, ago=seen_ago, id=name, host=host, pid=pid, running=running)

    def blob(self, task: int, folder: Path, key: str, name: str, raw: bytes) -> None:
        """A file of a task, on disk and in its row."""
        path = folder / "blobs" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        self.run(
            "INSERT INTO blobs (key, task, name, size, created_at) VALUES (:key, :task, :name, :size, <now>)",
            key=key, task=task, name=name, size=len(raw),
        )  # fmt: skip

    def done(self, task: int) -> int:
        """How many items of the stage `work` are done."""
        counted = "SELECT count(*) AS n FROM items WHERE task = :task AND stage = 'work' AND state = 'done'"
        with self.database.read() as connection:
            return int(self.on(connection, counted, task=task)[0].n)


class Working:
    """A worker of the first version: it beats, claims, works and finishes; others advance the task."""

    def __init__(self, first: FirstVersion, name: str, log: str, seconds: float, lease_seconds: float = 3.0) -> None:
        self.first = first
        self.name = name
        self.options = {"log": log}
        self.seconds = seconds
        self.lease_seconds = lease_seconds
        self.stopped = False
        self.beaten_at = 0.0

    def run(self) -> None:
        """Work on every active task until stopped; what was claimed is finished first."""
        self.first.worker(self.name, os.getpid(), host="first")
        while not self.stopped:
            self.beat()
            tasks = self.first.run("SELECT number FROM tasks WHERE state = 'active' AND stage = 'work' ORDER BY number")
            claimed = [row for task in tasks for row in self.first.run(CLAIM, worker=self.name, task=task.number)]
            self.work(claimed) if claimed else time.sleep(0.05)
        self.first.run("DELETE FROM workers WHERE id = :id", id=self.name)

    def work(self, claimed: list[Any]) -> None:
        """All of them at once, each with its trace, then one commit."""
        tokens = {row.id: secrets.token_hex(4) for row in claimed}
        for word in ("start", "end"):
            for row in claimed:
                note(self.options, word, row.key, row.lease, tokens[row.id], os.getpid())
            if word == "start":
                time.sleep(self.seconds)
        with self.first.database.write() as connection:
            for row in claimed:
                if self.first.on(connection, FINISH, id=row.id, lease=row.lease):
                    output = {"key": row.key, "attempt": row.lease, "token": tokens[row.id], "pid": os.getpid()}
                    self.first.on(connection, KEEP, item=row.id, output=json.dumps(output))

    def beat(self) -> None:
        """A sign of life, now and then."""
        if time.monotonic() - self.beaten_at >= BEAT_SECONDS:
            self.first.run(BEAT, ago=self.lease_seconds, id=self.name, running=BATCH)
            self.beaten_at = time.monotonic()

    def stop(self, *_signal: Any) -> None:
        """Come to an end after what is claimed now."""
        self.stopped = True


if __name__ == "__main__":
    working = Working(FirstVersion(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4]))
    signal.signal(signal.SIGTERM, working.stop)
    working.run()
