"""What a server does during a run: which statements take its time, what its connections wait for, and who waits for one."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import psycopg

from tests.poolers import PORT, PgBouncer
from tests.servers import PostgresServer

KINDS = (
    ("notifications", r"^(NOTIFY|LISTEN|UNLISTEN|SELECT pg_notify)"),
    ("heartbeats and registration", r"^(UPDATE|INSERT INTO|DELETE FROM) workers"),
    ("claims", r"SKIP LOCKED"),
    ("settlements", r"^(UPDATE items|INSERT INTO (item_data|attempts))"),
    ("polls", r"\bprobed\b"),
    ("checks whether items are wanted", r"^SELECT items\.id, items\.lease"),
    ("begin and commit", r"^(BEGIN|COMMIT|ROLLBACK|SET|DEALLOCATE|DISCARD)"),
)
"""Kinds of statements, by their text; the first that fits counts."""


@dataclass
class Work:
    """What was seen."""

    calls: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Elapsed, so it includes waits for locks, for the log, and for a processor."""
    waits: Counter[str] = field(default_factory=Counter)
    """Busy connections, once per second, by what they waited for."""
    waiting_clients: list[int] = field(default_factory=list)
    """Connections of workers that waited for one of the server, once per second."""


def count_statements(server: PostgresServer) -> None:
    """Let the server count; this restarts it."""
    with server.connect() as connection:
        connection.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
    server.restart()


class Observer:
    """Looks at a server and its pooler."""

    def __init__(self, direct: str, pooler: PgBouncer) -> None:
        self._server = psycopg.connect(direct, autocommit=True)
        self._server.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        folder = str(pooler.folder)
        self._pooler = psycopg.connect(host=folder, port=PORT, user="postgres", dbname="pgbouncer", autocommit=True)
        self.work = Work()

    def begin(self) -> None:
        """Forget what was counted so far."""
        self._server.execute("SELECT pg_stat_statements_reset()")
        self.work = Work()

    def look(self) -> None:
        """Note what the connections do now."""
        busy = self._server.execute(
            "SELECT coalesce(wait_event, 'processor') FROM pg_stat_activity WHERE backend_type = 'client backend'"
            " AND state = 'active' AND pid <> pg_backend_pid()"
        )
        self.work.waits.update(name for (name,) in busy)
        shown = psycopg.ClientCursor(self._pooler).execute("SHOW POOLS")
        assert shown.description is not None
        column = next(number for number, one in enumerate(shown.description) if one.name == "cl_waiting")
        self.work.waiting_clients.append(sum(int(row[column]) for row in shown.fetchall()))

    def end(self) -> Work:
        """Count the statements since the beginning."""
        counted = self._server.execute("SELECT query, calls, total_exec_time / 1000 FROM pg_stat_statements")
        for query, calls, seconds in counted.fetchall():
            kind = kind_of(query)
            self.work.calls[kind] += calls
            self.work.seconds[kind] += seconds
        self._server.close()
        self._pooler.close()
        return self.work


def kind_of(query: str) -> str:
    """What a statement is for."""
    text = " ".join(query.split())
    return next((name for name, pattern in KINDS if re.search(pattern, text)), "others")
