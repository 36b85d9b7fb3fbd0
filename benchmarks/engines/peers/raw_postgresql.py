"""Runs the bare statements on PostgreSQL: psycopg, a keyset claim and a finish per batch, each with its own commit."""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg

from benchmarks.engines.engine import database_url
from benchmarks.engines.servers import fresh_database
from benchmarks.engines.statements import Statements, Worked

TABLE = """
CREATE TABLE item (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task integer NOT NULL,
    state smallint NOT NULL DEFAULT 0,
    attempt smallint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    output text
)"""
INDEX = "CREATE INDEX item_due ON item (task, id) WHERE state = 0"
CREATE = "INSERT INTO item (task) SELECT 1 FROM generate_series(1, %s)"
# The cursor skips the dead index entries of what this process has claimed before; the array keeps the plan an index scan.
CLAIM = """
UPDATE item SET state = 1, attempt = attempt + 1, lease_until = now() + interval '30 seconds'
WHERE id = ANY(ARRAY(
    SELECT id FROM item WHERE task = 1 AND state = 0 AND id > %s ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
)) RETURNING id"""
FINISH = """
UPDATE item SET state = 2, output = given.output
FROM unnest(%s::bigint[], %s::text[]) AS given (id, output) WHERE item.id = given.id"""
DONE = "SELECT count(*) FROM item WHERE state = 2 AND output = '1'"


class RawPostgresql(Statements):
    """The limit for an engine that claims and finishes in batches."""

    def prepare(self) -> None:
        """One table and its index."""
        fresh_database(database_url())
        self.execute(TABLE, INDEX)

    def enqueue(self, count: int) -> None:
        """One statement."""
        with psycopg.connect(database_url(), autocommit=True) as connection:
            connection.execute(CREATE, (count,))

    def before_work(self) -> None:
        """Statistics, and the dirty pages of the creation on disk."""
        self.execute("VACUUM ANALYZE item", "CHECKPOINT")

    def execute(self, *statements: str) -> None:
        """Run statements outside of a transaction."""
        with psycopg.connect(database_url(), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def work(self, ready: Callable[[], object]) -> Worked:
        """Claim and finish; a claim behind the cursor that comes up empty starts over once."""
        done, last = 0, 0
        with psycopg.connect(database_url(), autocommit=True) as connection:
            ready()
            began = time.monotonic()
            while True:
                claimed = [row[0] for row in connection.execute(CLAIM, (last, self.batch))]
                if claimed:
                    connection.execute(FINISH, (claimed, ["1"] * len(claimed)))
                    done, last = done + len(claimed), max(claimed)
                elif last:
                    last = 0
                else:
                    return Worked(done, began, time.monotonic())

    def finished(self) -> int:
        """Rows with a result."""
        with psycopg.connect(database_url()) as connection:
            row = connection.execute(DONE).fetchone()
        return int(row[0]) if row else 0


ENGINE = RawPostgresql
