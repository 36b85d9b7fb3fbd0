"""An upgrade on PostgreSQL never causes a deadlock that ends a working session."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa

from fanfold.store.database import Database
from fanfold.store.upgrade import migrate
from tests.acceptance.fleet import fleet, patiently
from tests.chaos.findings import FULL, Finding, note
from tests.chaos.first_version import FirstVersion, Working
from tests.chaos.whole import Load
from tests.servers import PostgresServer
from tests.waiting import eventually

ROUNDS = 20 if FULL else 4
WORKERS = 4
ITEMS = 2_000
LOCKS = 60 if FULL else 10


@pytest.fixture
def first(postgres: PostgresServer) -> Iterator[FirstVersion]:
    """A database of the first version, empty."""
    name = f"first_{uuid4().hex}"
    made = FirstVersion(postgres.create_database(name))
    migrate.upgrade_database(made.database, "0001")
    yield made
    made.database.close()
    postgres.drop_database(name)


class Upgrade(threading.Thread):
    """Upgrades a database, and counts its tries to lock what it has not locked yet."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.database = Database(url)
        self.tries = 0
        self.problem: Exception | None = None
        sa.event.listen(self.database.engine, "before_cursor_execute", self._count)

    def _count(self, _connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        self.tries += statement.startswith('LOCK TABLE "')

    def run(self) -> None:
        """Upgrade to the newest revision."""
        try:
            migrate.upgrade_database(self.database)
        except Exception as problem:
            self.problem = problem
        finally:
            self.database.close()


STEPS = {
    "items": "UPDATE items SET attempts = attempts WHERE task = :task",
    "item_data": "UPDATE item_data SET model = NULL",
    "tasks": "UPDATE tasks SET priority = priority WHERE number = :task",
    "workers": "UPDATE workers SET running = 1",
}


@pytest.mark.parametrize(
    "order", [("items", "item_data"), ("item_data", "items"), ("workers", "items"), ("items", "tasks")], ids="-".join
)
def test_an_upgrade_never_holds_one_table_while_it_waits_for_another(
    first: FirstVersion, order: tuple[str, str]
) -> None:
    """A transaction of a worker takes tables in any order, with the upgrade in between, and is not ended by a deadlock."""
    task = first.task("t-1", "active", "work", {})
    upgrade = Upgrade(str(first.database.url))
    with first.database.write() as connection:
        # The session that looks for a deadlock first is the one that is ended: here that would be the worker.
        connection.execute(sa.text("SET LOCAL deadlock_timeout = 10"))
        first.on(connection, STEPS[order[0]], task=task)
        upgrade.start()
        eventually(lambda: upgrade.tries >= 2 or waits_for_a_lock(first))
        first.on(connection, STEPS[order[1]], task=task)
    upgrade.join(60)
    assert (upgrade.is_alive(), upgrade.problem) == (False, None)
    assert migrate.current(first.database) == migrate.REVISIONS[-1]


def waits_for_a_lock(first: FirstVersion) -> bool:
    """Whether a session of this database waits for a lock."""
    waiting = sa.text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with first.database.read() as connection:
        return bool(connection.execute(waiting).scalar_one())


def test_workers_of_the_first_version_go_on_through_one_upgrade_after_the_other(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """Fresh databases, upgraded repeatedly while workers claim and finish without a pause: no worker ends."""
    for number in range(ROUNDS):
        upgrade_with_workers(postgres, tmp_path / f"{number}.log")
    promised = "Workers that claim and finish all the time are not ended by an upgrade, however often it is tried."
    note(Finding("upgrade, again and again", "PostgreSQL", promised, f"{ROUNDS} upgrades with {WORKERS} workers each"))


def upgrade_with_workers(postgres: PostgresServer, log: Path) -> None:
    """One round; every worker is at work before and after."""
    name = f"first_{uuid4().hex}"
    first = FirstVersion(postgres.create_database(name))
    try:
        migrate.upgrade_database(first.database, "0001")
        task = first.task("t-load", "active", "work", {"log": str(log)})
        insert = "INSERT INTO items (task, stage, seq, key, state, lease, attempts, failures, crashes) "
        rows = "SELECT :task, 'work', n, 'k' || n, 'pending', 0, 0, 0, 0 FROM generate_series(1, :count) n"
        first.run(insert + rows, task=task, count=ITEMS)
        crew = [Crew(first, f"old-{number}", str(log)) for number in range(WORKERS)]
        for one in crew:
            one.start()
        patiently(lambda: first.done(task) > 4 * WORKERS, 60, lambda: str([one.problem for one in crew]))
        migrate.upgrade(str(first.database.url))
        done = first.done(task)
        patiently(lambda: first.done(task) > min(ITEMS - 1, done), 60, lambda: str([one.problem for one in crew]))
        for one in crew:
            one.working.stop()
            one.join(60)
        assert [(one.is_alive(), one.problem) for one in crew] == [(False, None)] * WORKERS
    finally:
        first.database.close()
        postgres.drop_database(name)


class Crew(threading.Thread):
    """A worker of the first version in a thread; what ends it is kept."""

    def __init__(self, first: FirstVersion, name: str, log: str) -> None:
        super().__init__(daemon=True)
        self.working = Working(first, name, log, 0.0, lease_seconds=60.0)
        self.problem: Exception | None = None

    def run(self) -> None:
        """Work until stopped."""
        try:
            self.working.run()
        except Exception as problem:
            self.problem = problem


def test_the_locks_of_an_upgrade_end_no_worker_of_today(postgres: PostgresServer, tmp_path: Path) -> None:
    """All tables locked repeatedly while workers claim and settle: they wait a moment, and nothing fails."""
    name = f"today_{uuid4().hex}"
    url = postgres.create_database(name)
    try:
        with fleet(url, tmp_path) as ours:
            load = Load(ours)
            database = Database(url)
            for _ in range(LOCKS):
                with database.write() as connection:
                    connection.execute(sa.text("SET LOCAL lock_timeout = 30000"))
                    database.access.lock_tables(connection, "items", migrate.LOCK_SECONDS)
            database.close()
            load.all_at_work(*load.workers)
            load.finish()
            assert "deadlock" not in ours.said()
            assert [worker.poll() for worker in load.workers] == [None, None], ours.said()
            assert {row.lease for row in ours.rows(load.task, "work")} == {1}
    finally:
        postgres.drop_database(name)
    promised = "Workers wait a moment for the locks of an upgrade; no item fails or runs twice."
    note(Finding("locks of an upgrade", "PostgreSQL", promised, f"all tables locked {LOCKS} times with 2 workers"))
