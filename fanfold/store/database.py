"""Which database is it, and how are transactions made? One engine, two kinds of transaction, on both databases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import cached_property

import sqlalchemy as sa

from fanfold.store.database_errors import told
from fanfold.store.dialects.clock import Clock
from fanfold.store.dialects.connections import Connections
from fanfold.store.dialects.garbage import collecting_later
from fanfold.store.dialects.poolers import Pooler
from fanfold.store.dialects.postgresql import ACTIVE_SERVERS, postgres_engine
from fanfold.store.dialects.sqlite import BUSY_SECONDS, OpenedFile, sqlite_engine
from fanfold.store.urls import is_in_memory, parse, shown, split_pooler


class Database:
    """A connection pool with the clock of its database. ``write()`` and ``read()`` are the only ways in."""

    def __init__(
        self,
        url: str,
        *,
        synchronous: str = "FULL",
        read_clock: Callable[[], datetime] | None = None,
        patience: float = 15.0,
        direct: str = "",
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        self.url, told_pooler = split_pooler(parse(url))
        self.direct = split_pooler(parse(direct))[0] if direct else None
        """A URL that goes around a pooler, for notifications."""
        self.pooler = Pooler(told_pooler, direct=bool(direct))
        self.dialect = self.url.get_backend_name()
        self.clock = Clock(self.dialect, read_clock)
        self.patience = patience
        """How many seconds of silence a connection may have before it is looked into."""
        self.connections = Connections()
        self._synchronous = synchronous
        self._busy_seconds = busy_seconds
        self._own = threading.local()
        self._file = OpenedFile(self.url) if self.dialect == "sqlite" else None
        self.engine = self._new_engine(pool_size=8, max_overflow=24)

    def _new_engine(self, **pool: int) -> sa.Engine:
        if self._file is not None:
            return sqlite_engine(self.url, self._synchronous, pool, self._file, self._busy_seconds)
        return postgres_engine(self.url, self.patience, self.connections, self.pooler, pool)

    @cached_property
    def _reserve(self) -> sa.Engine:
        """Connections that handlers cannot use up; in memory there is but one, for everybody."""
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
        with self._told_plainly(), self._pool.connect() as connection, ExitStack() as over, connection.begin():
            if self.dialect == "sqlite":
                over.enter_context(collecting_later())  # From the moment the lock is ours, until after the commit.
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

    @property
    def is_pooled(self) -> bool:
        """Whether a pooler gives each transaction another connection of the server."""
        if self.dialect == "postgresql" and self.pooler.found is None:
            with self.read():
                pass
        return bool(self.pooler.found)

    def end_silent(self) -> int:
        """End connections on which somebody waits for an answer that will not come; returns how many.

        The server is asked, through another connection: it knows nothing of them, or has long done what they asked for. So
        a statement that takes an hour is left alone. Behind a pooler, which has process ids of its own, nothing can be told.
        """
        waiting = self.connections.waiting(self.patience)
        if not waiting or self.dialect != "postgresql" or self.is_pooled:
            return 0
        with self.read() as connection:
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

    def leave_connections(self) -> None:
        """Keep off the connections that a forked copy of the process shares with its parent, and open new ones when needed."""
        engines = [self.engine, *([self._reserve] if "_reserve" in self.__dict__ else [])]
        self._inherited = [engine.pool for engine in engines]  # Held: when collected they would be closed for both.
        for engine in engines:
            engine.dispose(close=False)

    @contextmanager
    def _told_plainly(self) -> Iterator[None]:
        """Errors of the driver as DatabaseProblem, with a code that says what they mean for the work."""
        try:
            yield
        except Exception as error:
            problem = told(error, shown(self.url))
            if problem is None:
                raise
            raise problem from error
