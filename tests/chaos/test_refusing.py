"""PostgreSQL answers but refuses: read-only, out of connections, out of time. Real settings, real workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from tests.acceptance.fleet import Fleet, fleet, patiently
from tests.chaos.findings import FULL, Finding, note
from tests.chaos.whole import Load
from tests.servers import PostgresServer

HOLD = 10.0 if FULL else 2.0
COUNT = 4_000 if FULL else 2_000


class Tenant:
    """A database of an account without special rights: limits and settings of the account hold for all its sessions."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.name = f"tenant_{uuid4().hex}"
        self.url = server.url(self.name).replace("postgres@", f"{self.name}@")
        with server.connect() as administrator:
            administrator.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(self.name)))
            made = sql.SQL("CREATE DATABASE {} OWNER {}")
            administrator.execute(made.format(sql.Identifier(self.name), sql.Identifier(self.name)))

    def change(self, change: str) -> None:
        """Change the account, and end its sessions, as new ones only have the change."""
        with self.server.connect() as administrator:
            administrator.execute(sql.SQL("ALTER ROLE {} " + change).format(sql.Identifier(self.name)))
            self.end_sessions(administrator)

    def end_sessions(self, administrator: psycopg.Connection[tuple[object, ...]] | None = None) -> None:
        """End every session, whatever it does."""
        if administrator is None:
            with self.server.connect() as administrator:
                return self.end_sessions(administrator)
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s"
        administrator.execute(ended, (self.name,)).fetchall()
        return None

    def remove(self) -> None:
        """Leave nothing of it."""
        self.server.drop_database(self.name)
        with self.server.connect() as administrator:
            administrator.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(self.name)))


@pytest.fixture
def tenant(postgres: PostgresServer) -> Iterator[Tenant]:
    """An empty database whose owner can be limited."""
    made = Tenant(postgres)
    yield made
    made.remove()


@dataclass(frozen=True)
class Refusal:
    """One way in which a server that answers does not do what it is asked."""

    name: str
    begin: str
    end: str
    said: str
    """What workers say of it."""


REFUSALS = (
    Refusal(
        "PostgreSQL takes no writes",
        "SET default_transaction_read_only = on",
        "RESET default_transaction_read_only",
        "read-only transaction. The server refuses writes, as after a failover; work resumes by itself",
    ),
    Refusal(
        "PostgreSQL gives an account no connection",
        "CONNECTION LIMIT 0",
        "CONNECTION LIMIT -1",
        'too many connections for role "{account}". Raise the connection limit',
    ),
    Refusal(
        "PostgreSQL ends statements (statement_timeout)",
        "SET statement_timeout = 1",
        "RESET statement_timeout",
        "canceling statement due to statement timeout",
    ),
    Refusal(
        "PostgreSQL ends transactions (transaction_timeout)",
        "SET transaction_timeout = 2",
        "RESET transaction_timeout",
        "terminating connection due to transaction timeout",
    ),
)


def said(ours: Fleet, words: str) -> int:
    """How many lines of all processes have these words."""
    return sum(path.read_text(errors="replace").count(words) for path in ours.folder.glob("process-*.log"))


def test_workers_keep_their_results_while_postgresql_refuses(tenant: Tenant, tmp_path: Path) -> None:
    """Whatever it refuses, workers say so, keep what they have in hand, run nothing twice, and resume by themselves."""
    with fleet(tenant.url, tmp_path) as ours:
        load = Load(ours, count=COUNT)
        for refusal in REFUSALS:
            words = refusal.said.format(account=tenant.name)
            begin, end = partial(tenant.change, refusal.begin), partial(tenant.change, refusal.end)
            recovered = endure(ours, load, begin, end, words)
            seen(refusal.name, recovered)
        recovered = endure(ours, load, tenant.end_sessions, tenant.end_sessions, "Database lost since")
        seen("PostgreSQL ends all sessions", recovered)
        load.finish()
        assert [worker.poll() for worker in load.workers] == [None, None], ours.said()
        check_nothing_ran_twice(ours, load)


def endure(ours: Fleet, load: Load, begin: Callable[[], None], end: Callable[[], None], words: str) -> float:
    """Make the trouble until it is logged, and for a while longer; returns how long it took to resume afterwards."""
    before = said(ours, words)
    begin()
    patiently(lambda: said(ours, words) > before, 60, ours.said)
    time.sleep(HOLD)
    end()
    ours.store.close()
    over_at = time.monotonic()
    load.all_at_work(*load.workers)
    return time.monotonic() - over_at


def check_nothing_ran_twice(ours: Fleet, load: Load) -> None:
    """Each item was started once, and none failed or was lost."""
    again = {key: calls for key, calls in ours.calls("start").items() if len(calls) > 1}
    assert not again, f"{again} {ours.said()}"
    assert {(row.state, row.failures, row.crashes) for row in ours.rows(load.task, "work")} == {("done", 0, 0)}


def seen(name: str, recovered: float) -> None:
    """Note it."""
    promised = "Workers say so, keep their results in hand, run nothing twice, and resume by themselves."
    what = f"for {HOLD:g} s or more: every item started once, none failed"
    note(Finding(name, "PostgreSQL", promised, what, round(recovered, 1)))
