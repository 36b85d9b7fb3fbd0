"""Interrupts a run at every statement, before and after every commit, and at every wait for a lock."""

from __future__ import annotations

import re
import select
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from fanfold.settings import Settings
from fanfold.store.database import Database
from fanfold.store.schema import tables
from fanfold.store.store import Store
from tests.simulation.faults import AFTER_COMMIT, BEFORE_COMMIT, STATEMENT, Faults
from tests.simulation.parts import STAGE
from tests.simulation.schedule import Actor, ProcessDied, Violation

TOUCHING = re.compile(r"(INSERT INTO|UPDATE|DELETE FROM) (items|tasks|events|permits|drafts|reset_items)\b")
SHORT_SECONDS = 0.004
"""A statement that takes longer than this may wait for a lock: then the server is asked."""
MOMENT_SECONDS = 0.002
MOST_JUDGED = 50
MOST_ROWS = 45
"""Rows that one transaction may write, where all comes in chunks of three; a turn is bounded by the slots of its worker."""


class SimulatedDatabase(Database):
    """The real database of a run, whose transactions can be interrupted by others, fail, or be cut off."""

    def __init__(self, url: str) -> None:
        self.faults: Faults | None = None
        self.on_commit: Callable[[Any], None] | None = None
        """Called after every commit that has changed tasks, items, events or permits, with what was to be seen before that."""
        self.seen: Callable[[], Any] = lambda: True
        """What can be seen now."""
        self.changes = 0
        """Commits that others are notified of."""
        self.statements: Counter[str] = Counter()
        """How many each process has made."""
        self.every_commit_is_heard = True
        """On SQLite; else only commits that change work are."""
        self.ends = 0
        self.judged, self.judged_at = 0, 0
        """How often all locks were looked at again, at which step of the schedule."""
        self.writer: Actor | None = None
        self.most_rows = 0
        """The most rows that one commit has changed; known on SQLite."""
        self.writing: set[Actor] = set()
        """Who has a write transaction open."""
        self.turning: set[Actor] = set()
        """Who is in a worker's turn, which settles and claims as many items as the worker has slots."""
        super().__init__(url, synchronous="OFF", read_clock=lambda: self._faults().clock())
        # Threads wait for the write lock in the schedule, as processes do.
        setattr(self.access, "writing_in_turn", nullcontext)  # noqa: B010
        event.listen(self.engine, "before_cursor_execute", self._before_statement)
        if self.dialect.name == "postgresql":
            self.monitor = Monitor(self)
            event.listen(self.engine, "do_connect", self.monitor.connect)

    def _faults(self) -> Faults:
        assert self.faults is not None
        return self.faults

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction with a point before and one after its commit."""
        if self.faults is None:
            with super().write() as connection:
                yield connection
            return
        me = STAGE.schedule.current
        self.writing.add(me)
        try:
            with super().write() as connection:
                connection.info.pop("touched", None)
                before = self._is_heard(connection)
                yield connection
                self.faults.at(BEFORE_COMMIT)
                self.faults.commit()
                STAGE.schedule.note("COMMIT")
                heard = self._is_heard(connection, before)
                touched = connection.info.pop("touched", None)
            self.changes += (
                heard if self.every_commit_is_heard or self.dialect.name != "sqlite" else touched is not None
            )
        except ProcessDied:
            raise
        except BaseException as error:
            STAGE.schedule.note("ROLLBACK")
            if "deadlock detected" in str(error):
                STAGE.schedule.fail(Violation(f"a deadlock: {error}"))
            self._end_of_writing(me)
            self.faults.stall()
            raise
        finally:
            self._end_of_writing(me)
        if touched is not None and self.on_commit is not None:
            self.on_commit(touched)
        self.faults.at(AFTER_COMMIT)
        self.faults.stall()
        self.faults.answer()

    def _end_of_writing(self, me: Actor) -> None:
        self.ends += 1
        self.writing.discard(me)
        self.writer = None if self.writer is me else self.writer

    def judge_again(self) -> None:
        """Everybody waits: look at the locks once more, as an answer may have come since. None for a while is a deadlock.

        The server finds a deadlock by itself after a second; it is a defect all the same.
        """
        step = STAGE.schedule.decisions
        self.judged = self.judged + 1 if step == self.judged_at else 1
        self.judged_at = step
        if self.judged > MOST_JUDGED:
            raise Violation("everybody waits for a lock that somebody else holds: a deadlock")
        time.sleep(SHORT_SECONDS)
        self.ends += 1

    def in_transaction(self) -> bool:
        """Whether the actor that runs now has a write transaction open."""
        return STAGE.schedule.current in self.writing

    def _is_heard(self, connection: sa.Connection, before: int = 0) -> int:
        """Whether others get a hint of this transaction: of any change on SQLite, of announcements on PostgreSQL."""
        if self.dialect.name == "postgresql":
            return int(connection.info.pop("announced", 0))
        driver: Any = connection.connection.driver_connection
        if before == 0:
            return int(driver.total_changes) + 1
        rows = int(driver.total_changes) + 1 - before
        self.most_rows = max(self.most_rows, rows)
        if rows > MOST_ROWS and STAGE.schedule.current not in self.turning:
            STAGE.schedule.fail(Violation(f"{rows} rows in one transaction: it would hold SQLite's lock for too long"))
        return int(driver.total_changes + 1 > before)

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A transaction that only reads; it can be interrupted as well."""
        with super().read() as connection:
            yield connection
        self.ends += 1
        if self.faults is not None:
            self.faults.stall()

    def _before_statement(self, connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if self.faults is None:
            return
        schedule = STAGE.schedule
        if schedule.current.process.dead:
            raise ProcessDied(schedule.current.name)
        self.statements[schedule.current.process.name] += 1
        self.faults.at(STATEMENT)
        self.faults.statement()
        if statement == "BEGIN IMMEDIATE":
            if self.writer is not None:
                schedule.pause("the write lock", lambda: self.writer is None)
            self.writer = schedule.current
        if TOUCHING.search(statement):
            connection.info.setdefault("touched", self.seen())
        if "pg_notify" in statement:
            connection.info["announced"] = 1
        if not statement.startswith("BEGIN"):
            schedule.note(statement)

    def close(self) -> None:
        """Close every connection, that of the monitor included."""
        super().close()
        if self.dialect.name == "postgresql":
            self.monitor.connection.close()

    def own_connections(self) -> None:
        """One pool for all, whose statements are all seen."""

    def end_thread(self, thread: int) -> int:
        """No connection hangs here; those of killed processes are gone with them."""
        return 0

    def end_all(self) -> int:
        """See ``end_thread``."""
        return 0

    def end_silent(self) -> int:
        """See ``end_thread``."""
        return 0

    def _append_only_triggers(self) -> list[str]:
        """The ledger is emptied between runs, which its triggers refuse; nothing in a run depends on them."""
        if self.dialect.name == "sqlite":
            return [f"DROP TRIGGER IF EXISTS credit_entries_no_{verb}" for verb in ("update", "delete")]
        return ["DROP TRIGGER IF EXISTS credit_entries_append_only ON credit_entries"]

    def reset(self) -> None:
        """Empty all tables, and number from one again."""
        faults, self.faults = self.faults, None
        with self.write() as connection:
            for trigger in self._append_only_triggers():
                connection.execute(sa.text(trigger))
            for table in reversed(tables.metadata.sorted_tables):
                connection.execute(sa.delete(table))
            if self.dialect.name == "sqlite":
                connection.execute(sa.text("DELETE FROM sqlite_sequence"))
            else:
                for name in ("tasks_number_seq", "items_id_seq", "attempts_id_seq", "events_id_seq", "calls_id_seq"):
                    connection.execute(sa.text(f"ALTER SEQUENCE {name} RESTART"))
        self.faults, self.writer = faults, None
        self.most_rows = 0
        self.statements.clear()
        self.writing.clear()

    @contextmanager
    def undisturbed(self) -> Iterator[sa.Connection]:
        """A look at everything that no schedule knows of."""
        faults, self.faults = self.faults, None
        try:
            with Database.read(self) as connection:
                yield connection
        finally:
            self.faults = faults


class Monitor:
    """Asks PostgreSQL who waits for whom, so that an actor that waits for a lock lets the others run."""

    def __init__(self, database: SimulatedDatabase) -> None:
        import psycopg

        self.database = database
        arguments = database.engine.dialect.create_connect_args(database.url)[1]
        self.connection = psycopg.connect(**arguments, autocommit=True)

    def is_blocked(self, pid: int) -> bool:
        """Whether a backend waits for a lock that another holds."""
        row = self.connection.execute("SELECT cardinality(pg_blocking_pids(%s))", (pid,)).fetchone()
        return bool(row and row[0])

    def is_answered(self, connection: Any) -> bool:
        """Whether a statement that waited for a lock comes to its end now, or waits on.

        Behind a lock that was just given back a queue moves up, which takes a moment, in which nobody is blocked: so it is
        asked until there is an answer, or a lock that is waited for twice in a row.
        """
        pid, blocked = connection.info.backend_pid, 0
        while not select.select([connection.fileno()], [], [], MOMENT_SECONDS)[0]:
            blocked = blocked + 1 if self.is_blocked(pid) else 0
            if blocked == 2:
                return False
        return True

    def end(self, pid: int) -> None:
        """End a backend whose client was killed, and wait until its locks are gone."""
        self.connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))

    def connect(self, _dialect: Any, _record: Any, arguments: Any, named: Any) -> Any:
        """A connection that waits in the schedule."""
        import psycopg
        from psycopg import waiting
        from psycopg.errors import _WaitTimeout

        monitor, database = self, self.database

        class Waiting(psycopg.Connection[Any]):
            """Waits for the server, but not while it waits for a lock."""

            def wait(self, gen: Generator[Any, Any, Any], interval: float = 0.1, timeout: float | None = None) -> Any:
                if database.faults is None or timeout is not None:
                    return super().wait(gen, interval, timeout)
                while True:
                    try:
                        return waiting.wait(gen, self.pgconn.socket, interval=interval, timeout=SHORT_SECONDS)
                    except _WaitTimeout:
                        if monitor.is_blocked(self.info.backend_pid):
                            self._let_others_run()

            def _let_others_run(self) -> None:
                judged = database.ends
                STAGE.schedule.note("waits for a lock")

                def is_free() -> bool:
                    nonlocal judged
                    if judged == database.ends:
                        return False
                    judged = database.ends
                    return monitor.is_answered(self)

                try:
                    STAGE.schedule.pause("a lock", is_free)
                except ProcessDied:
                    monitor.end(self.info.backend_pid)
                    self.close()
                    raise

        return Waiting.connect(*arguments, **named)


class SimulatedStore(Store):
    """The real store on such a database."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.database: SimulatedDatabase = SimulatedDatabase(settings.database_url)

    def forget(self) -> None:
        """Know nothing of the data folder, which is empty again."""
        self._identity = None
