"""Runs the bare statements on SQLite: sqlite3 in WAL mode, a claim and a finish per batch, each in its own transaction."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks.engines.engine import work_folder
from benchmarks.engines.statements import Statements, Worked

try:
    # The same SQLite as Fanfold's, where it brings its own.
    from pysqlite3 import dbapi2 as sqlite3
except ImportError:
    import sqlite3

TABLE = """
CREATE TABLE item (
    id integer PRIMARY KEY,
    task integer NOT NULL,
    state integer NOT NULL DEFAULT 0,
    attempt integer NOT NULL DEFAULT 0,
    lease_until real,
    output text
)"""
INDEX = "CREATE INDEX item_due ON item (task, id) WHERE state = 0"
CLAIM = """
UPDATE item SET state = 1, attempt = attempt + 1, lease_until = unixepoch() + 30
WHERE id IN (SELECT id FROM item WHERE task = 1 AND state = 0 ORDER BY id LIMIT ?) RETURNING id"""
FINISH = "UPDATE item SET state = 2, output = ? WHERE id = ?"
DONE = "SELECT count(*) FROM item WHERE state = 2 AND output = '1'"


class RawSqlite(Statements):
    """The limit for an engine that claims and finishes in batches."""

    def connect(self) -> Any:
        """A connection with the pragmas of the run."""
        connection = sqlite3.connect(str(work_folder() / "raw.db"), isolation_level=None, timeout=30)
        for pragma in (
            "journal_mode=WAL",
            f"synchronous={self.contestant.options['synchronous']}",
            "cache_size=-65536",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        return connection

    def prepare(self) -> None:
        """One table and its index."""
        connection = self.connect()
        connection.execute(TABLE)
        connection.execute(INDEX)
        connection.close()

    def enqueue(self, count: int) -> None:
        """One transaction."""
        connection = self.connect()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO item (task) VALUES (?)", ((1,) for _ in range(count)))
        connection.execute("COMMIT")
        connection.close()

    def work(self, ready: Callable[[], object]) -> Worked:
        """Claim and finish until a claim comes up empty."""
        connection, done = self.connect(), 0
        ready()
        began = time.monotonic()
        while True:
            connection.execute("BEGIN IMMEDIATE")
            claimed = [row[0] for row in connection.execute(CLAIM, (self.batch,)).fetchall()]
            connection.execute("COMMIT")
            if not claimed:
                return Worked(done, began, time.monotonic())
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(FINISH, [("1", item) for item in claimed])
            connection.execute("COMMIT")
            done += len(claimed)

    def finished(self) -> int:
        """Rows with a result."""
        connection = self.connect()
        row = connection.execute(DONE).fetchone()
        connection.close()
        return int(row[0])


ENGINE = RawSqlite
