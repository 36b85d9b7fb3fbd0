"""Which database is it, and how are transactions made? One engine, two kinds of transaction, on both databases."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from fanfold.errors import DatabaseProblem
from fanfold.store.clock import Clock
from fanfold.store.connections import Connections, client_options, server_options

SAFE_SQLITE = (3, 51, 3)
"""Older versions have a bug in which resetting the WAL can corrupt the file."""
BUSY_SECONDS = 60
"""How long a writer waits for another one; a split of a million items holds the lock for several seconds."""


def sqlite_module() -> Any:
    """The bundled, safe SQLite where there is a wheel of it, Python's own otherwise."""
    try:
        return importlib.import_module("pysqlite3")
    except ImportError:
        return importlib.import_module("sqlite3")


def sqlite_version() -> tuple[int, ...]:
    """The version of SQLite in use."""
    return tuple(int(part) for part in sqlite_module().sqlite_version.split("."))


def parse(url: str) -> sa.URL:
    """A database URL, checked, with the driver filled in; DatabaseProblem says what is wrong with it."""
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise DatabaseProblem(
            "The database URL is malformed. Use sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/name."
        ) from None
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        if parsed.host:
            raise DatabaseProblem(
                f"A SQLite URL has three slashes before a relative path: sqlite:///{parsed.host}/{parsed.database or ''}"
            )
        return parsed.set(drivername="sqlite")
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise DatabaseProblem(
        f"Fanfold keeps its state in SQLite or PostgreSQL, not in {backend}. Use sqlite:///… or postgresql://…"
    )


def shown(url: sa.URL) -> str:
    """The URL for people, without its password."""
    return url.render_as_string(hide_password=True)


class Database:
    """A connection pool with the clock of its database. ``write()`` and ``read()`` are the only ways in."""

    def __init__(
        self,
        url: str,
        *,
        synchronous: str = "FULL",
        read_clock: Callable[[], datetime] | None = None,
        patience: float = 15.0,
    ) -> None:
        self.url = parse(url)
        self.dialect = self.url.get_backend_name()
        self.clock = Clock(self.dialect, read_clock)
        self.patience = patience
        """How many seconds of silence a connection may have before it is looked into."""
        self.connections = Connections()
        self._synchronous = synchronous
        self._own = threading.local()
        self.engine = self._new_engine(pool_size=8, max_overflow=24)

    def _new_engine(self, **pool: int) -> sa.Engine:
        if self.dialect == "sqlite":
            return _sqlite(self.url, self._synchronous, pool)
        return _postgres(self.url, self.patience, self.connections, pool)

    @cached_property
    def _reserve(self) -> sa.Engine:
        """Connections that handlers can not use up; in memory there is but one, for everybody."""
        return self.engine if is_in_memory(self.url) else self._new_engine(pool_size=3, max_overflow=2)

    def own_connections(self) -> None:
        """From now on this thread does not wait for a connection behind the handlers: everybody waits for what it does."""
        self._own.engine = self._reserve

    @property
    def _pool(self) -> sa.Engine:
        own: sa.Engine | None = getattr(self._own, "engine", None)
        return own or self.engine

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction that writes: takes SQLite's write lock at once, so that nothing is read that another one changes."""
        with self._told_plainly(), self._pool.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A transaction that only reads and blocks nobody.

        On PostgreSQL each statement by itself, as it sees what was committed before it anyway: beginning and ending a
        transaction would be two more messages for every look.
        """
        alone = {"isolation_level": "AUTOCOMMIT"} if self.dialect == "postgresql" else {}
        with self._told_plainly(), self._pool.connect() as connection:
            connection = connection.execution_options(fanfold_read=True, **alone)
            with connection.begin():
                yield connection

    def end_silent(self) -> int:
        """End connections on which somebody waits for an answer that will not come; returns how many.

        The server is asked, through another connection: it knows nothing of them, or has long done what they asked for. So
        a statement that takes an hour is left alone. Behind a pooler, which has process ids of its own, nothing can be told.
        """
        waiting = self.connections.waiting(self.patience)
        if not waiting or self.dialect != "postgresql":
            return 0
        with self.read() as connection:
            known = connection.connection.dbapi_connection.info.backend_pid  # type: ignore[union-attr]
            if connection.execute(sa.select(sa.func.pg_backend_pid())).scalar_one() != known:
                return 0
            active = set(connection.execute(ACTIVE_SERVERS, {"pids": list(waiting), "quiet": self.patience}).scalars())
        silent = [use for pid, use in waiting.items() if pid not in active]
        return self.connections.end(silent.__contains__)

    def end_all(self) -> int:
        """End every connection in use: nothing has been heard of the server for too long. Returns how many."""
        return self.connections.end(lambda use: True)

    def end_thread(self, thread: int) -> int:
        """End the connections that a thread waits on; returns how many."""
        return self.connections.end(lambda use: use.thread == thread)

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()
        if "_reserve" in self.__dict__:
            self._reserve.dispose()

    @contextmanager
    def _told_plainly(self) -> Iterator[None]:
        """Errors of the driver as ours: `unreachable` may pass by itself, `refused` is about the data."""
        try:
            yield
        except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as error:
            why = _first_line(error)
            raise DatabaseProblem(
                f"Can not use the database {shown(self.url)}: {why}.{_way_out(why)}", code="unreachable"
            ) from error
        except sa.exc.DBAPIError as error:
            cut_off = getattr(error.orig, "sqlstate", None) in CUT_OFF
            code = "unreachable" if error.connection_invalidated or cut_off else "refused"
            raise DatabaseProblem(f"The database refused: {_first_line(error)}.", code=code) from error
        except Exception as error:
            if not is_driver_error(error):
                raise
            code = "unreachable" if type(error).__name__ in ("OperationalError", "InterfaceError") else "refused"
            why = _first_line(error)
            raise DatabaseProblem(f"The database failed: {why}.{_way_out(why)}", code=code) from error


def may_pass(problem: DatabaseProblem) -> bool:
    """Whether waiting may help: nobody answers, or the server says that it is not ready; not a refusal of who asks for what.

    PostgreSQL gives no code for a connection that was not made, only a text.
    """
    found = str(getattr(problem.__cause__, "orig", None) or problem).lower()
    return problem.code == "unreachable" and any(words in found for words in PASSING)


PASSING = (
    "connection refused",
    "no such file or directory",
    "timeout expired",
    "no route to host",
    "network is unreachable",
    "temporary failure in name resolution",
    "connection reset",
    "closed the connection unexpectedly",
    "database system is starting up",
    "database system is shutting down",
    "database system is in recovery",
    "database system is not yet accepting",
    "too many clients",
    "too many connections",
    "connection slots are reserved",
)
"""What is said where a server is not there yet, or has no place left."""


CUT_OFF = ("25P03", "25P04", "57P01", "57P02", "57P03", "57P05")
"""SQLSTATEs of a server that ends the connection: idle in a transaction for too long, or shutting down."""
READ_ONLY = "readonly database"
SQLITE_WAYS_OUT = {
    "disk is full": "Free some space on its disk; the work then goes on by itself",
    READ_ONLY: "Make the file and its folder writable for this account; the work then goes on by itself",
    "disk I/O error": "Its disk is full, read-only or broken: look at the system's log",
    "is locked": "Another process holds its write lock; see who has the file open",
}
"""What SQLite says → what a person can do."""


def _way_out(why: str) -> str:
    return next((f" {advice}." for sign, advice in SQLITE_WAYS_OUT.items() if sign in why), "")


def is_driver_error(error: Exception) -> bool:
    """Whether a driver raised it, outside of SQLAlchemy; drivers share no base class."""
    return type(error).__module__.split(".")[0] in ("psycopg", "pysqlite3", "sqlite3")


def _first_line(error: Exception) -> str:
    text = str(getattr(error, "orig", None) or error).strip()
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".")


ACTIVE_SERVERS = sa.text(
    """
    SELECT pid FROM pg_stat_activity
    WHERE pid = ANY(:pids)
      AND (state IS NULL OR state NOT LIKE 'idle%' OR state_change > statement_timestamp() - make_interval(secs => :quiet))
    """
)
"""Which of these server processes are at work, or were a moment ago."""


def _postgres(url: sa.URL, patience: float, connections: Connections, pool: dict[str, int]) -> sa.Engine:
    try:
        importlib.import_module("psycopg")
    except ImportError:
        raise DatabaseProblem("PostgreSQL needs its driver: pip install 'fanfold[postgres]'") from None
    arguments = {"prepare_threshold": 3, **postgres_options(url, patience)}
    engine = sa.create_engine(url, connect_args=arguments, **pool)

    options = [part for option in server_options(patience).items() for part in option]
    preparing = "SELECT " + ", ".join(["set_config(%s, %s, false)"] * (len(options) // 2))

    def prepare(connection: Any) -> None:
        connection.execute(preparing, options)
        connection.commit()

    connections.watch(engine, prepare)
    return engine


def postgres_options(url: sa.URL, patience: float, name: str = "fanfold") -> dict[str, Any]:
    """How a connection to PostgreSQL is made, as far as the URL does not say otherwise."""
    wanted = {"application_name": name, **client_options(patience)}
    return {option: value for option, value in wanted.items() if option not in url.query}


def is_in_memory(url: sa.URL) -> bool:
    """Whether it is a SQLite without a file."""
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")


def _sqlite(url: sa.URL, synchronous: str, sizes: dict[str, int]) -> sa.Engine:
    memory = is_in_memory(url)
    if not memory:
        folder = Path(str(url.database)).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DatabaseProblem(f"Can not make the folder of the database, {folder}: {error.strerror}.") from None
    pool: dict[str, Any] = {"poolclass": sa.pool.StaticPool} if memory else sizes
    engine = sa.create_engine(
        url, module=sqlite_module(), connect_args={"check_same_thread": False, "timeout": BUSY_SECONDS}, **pool
    )
    pragmas = (
        "journal_mode=WAL",
        f"synchronous={synchronous}",
        f"busy_timeout={BUSY_SECONDS * 1000}",
        "temp_store=MEMORY",
        "cache_size=-32768",
    )

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        for pragma in pragmas:
            _persistently(connection, f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        reading = connection.get_execution_options().get("fanfold_read", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    @event.listens_for(engine, "handle_error")
    def _forget_read_only(context: sa.engine.ExceptionContext) -> None:
        # A connection opened while the file was read-only stays so for as long as it lives, and the pool would keep it.
        if READ_ONLY in str(context.original_exception):
            context.is_disconnect = True

    return engine


def _persistently(connection: Any, statement: str) -> None:
    """Run a pragma; switching a new file to WAL ignores the busy time-out when two processes do it at once."""
    for attempt in range(50):
        try:
            connection.execute(statement).fetchall()
            return
        except sqlite_module().OperationalError as error:
            if "locked" not in str(error) or attempt == 49:
                raise
            time.sleep(0.05)
