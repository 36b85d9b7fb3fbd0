"""Which database is it, and how are transactions made? One engine, two kinds of transaction, on both databases."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from fanfold.errors import DatabaseProblem
from fanfold.store.clock import Clock

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
        self, url: str, *, synchronous: str = "FULL", read_clock: Callable[[], datetime] | None = None
    ) -> None:
        self.url = parse(url)
        self.dialect = self.url.get_backend_name()
        self.clock = Clock(self.dialect, read_clock)
        self.engine = _sqlite(self.url, synchronous) if self.dialect == "sqlite" else _postgres(self.url)

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction that writes: takes SQLite's write lock at once, so that nothing is read that another one changes."""
        with self._told_plainly(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A transaction that only reads and blocks nobody."""
        with self._told_plainly(), self.engine.connect() as connection:
            connection = connection.execution_options(fanfold_read=True)
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    @contextmanager
    def _told_plainly(self) -> Iterator[None]:
        """Errors of the driver as ours: `unreachable` may pass by itself, `refused` is about the data."""
        try:
            yield
        except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as error:
            raise DatabaseProblem(
                f"Can not use the database {shown(self.url)}: {_first_line(error)}.", code="unreachable"
            ) from error
        except sa.exc.DBAPIError as error:
            code = "unreachable" if error.connection_invalidated else "refused"
            raise DatabaseProblem(f"The database refused: {_first_line(error)}.", code=code) from error
        except Exception as error:
            if not is_driver_error(error):
                raise
            code = "unreachable" if type(error).__name__ in ("OperationalError", "InterfaceError") else "refused"
            raise DatabaseProblem(f"The database failed: {_first_line(error)}.", code=code) from error


def is_driver_error(error: Exception) -> bool:
    """Whether a driver raised it, outside of SQLAlchemy; drivers share no base class."""
    return type(error).__module__.split(".")[0] in ("psycopg", "pysqlite3", "sqlite3")


def _first_line(error: Exception) -> str:
    text = str(getattr(error, "orig", None) or error).strip()
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".")


def _postgres(url: sa.URL) -> sa.Engine:
    try:
        importlib.import_module("psycopg")
    except ImportError:
        raise DatabaseProblem("PostgreSQL needs its driver: pip install 'fanfold[postgres]'") from None
    return sa.create_engine(
        url,
        pool_size=8,
        max_overflow=24,
        connect_args={"connect_timeout": 10, "prepare_threshold": 3, "application_name": "fanfold"},
    )


def _sqlite(url: sa.URL, synchronous: str) -> sa.Engine:
    memory = url.database in (None, "", ":memory:")
    if not memory:
        folder = Path(str(url.database)).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DatabaseProblem(f"Can not make the folder of the database, {folder}: {error.strerror}.") from None
    pool: dict[str, Any] = {"poolclass": sa.pool.StaticPool} if memory else {"pool_size": 8, "max_overflow": 24}
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
