"""Which database is it, and how are transactions made? One engine, two kinds of transaction, on every database."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import cached_property

import sqlalchemy as sa

from fanfold.store.database_errors import told
from fanfold.store.dialects.access import Wishes
from fanfold.store.dialects.known import of_url
from fanfold.store.urls import parse, shown


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
        busy_seconds: float | None = None,
    ) -> None:
        parsed = parse(url)
        self.dialect = of_url(parsed)
        wishes = Wishes(patience, busy_seconds, synchronous, parse(direct) if direct else None)
        self.access = self.dialect.access(parsed, wishes)
        self.url = self.access.url
        self.clock = self.dialect.clock(read_clock)
        self._own = threading.local()
        self.engine = self.access.new_engine(pool_size=8, max_overflow=24)

    @cached_property
    def _reserve(self) -> sa.Engine:
        """Connections that handlers cannot use up, where there is more than one."""
        return self.engine if self.access.has_one_connection else self.access.new_engine(pool_size=3, max_overflow=2)

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
            over.enter_context(self.access.holding_lock())  # From the moment the lock is ours, until after the commit.
            yield connection

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A transaction that only reads and blocks nobody."""
        with self._told_plainly(), self._pool.connect() as connection:
            connection = connection.execution_options(fanfold_read=True, **self.access.read_options)
            with connection.begin():
                yield connection

    @property
    def is_pooled(self) -> bool:
        """Whether a pooler gives each transaction another connection of the server."""
        return self.access.is_pooled(self.read)

    def end_silent(self) -> int:
        """End connections on which somebody waits for an answer that will not come; returns how many."""
        return self.access.end_silent(self.read)

    def end_all(self) -> int:
        """End every connection in use: nothing has been heard of the server for too long. Returns how many."""
        return self.access.end(lambda use: True)

    def end_thread(self, thread: int) -> int:
        """End the connections that a thread waits on; returns how many."""
        return self.access.end(lambda use: use.thread == thread)

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
