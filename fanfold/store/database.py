"""Opens transactions on one database: one engine and two kinds of transaction, whichever database it is."""

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

POOL_SIZE, OVERFLOW = 8, 24
"""Connections that stay open, and how many more there may be at the same time."""


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
        self.engine = self.access.new_engine(pool_size=POOL_SIZE, max_overflow=OVERFLOW)

    @cached_property
    def _reserve(self) -> sa.Engine:
        """A separate pool that handlers cannot exhaust, unless the database has only one connection."""
        return self.engine if self.access.has_one_connection else self.access.new_engine(pool_size=3, max_overflow=2)

    def own_connections(self) -> None:
        """Give this thread the reserved pool. Everything waits for its work, so it must not queue behind handlers."""
        self._own.engine = self._reserve

    @property
    def _pool(self) -> sa.Engine:
        own: sa.Engine | None = getattr(self._own, "engine", None)
        return own or self.engine

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A write transaction. It takes the write lock of SQLite at once, so what it reads cannot change before it writes."""
        with (
            self._told_plainly(),
            self.access.in_turn(),
            self.access.writing_in_turn(),
            self._pool.connect() as connection,
            ExitStack() as over,
            connection.begin(),
        ):
            over.enter_context(self.access.holding_lock())  # From acquiring the lock until after the commit.
            yield connection

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A read-only transaction. It blocks no writer."""
        with self._told_plainly(), self.access.in_turn(), self._pool.connect() as connection:
            connection = connection.execution_options(fanfold_read=True, **self.access.read_options)
            with connection.begin():
                yield connection

    @property
    def is_pooled(self) -> bool:
        """Whether a pooler may give each transaction a different server connection."""
        return self.access.is_pooled(self.read)

    def end_silent(self) -> int:
        """End connections that wait for an answer that will never come; returns how many."""
        return self.access.end_silent(self.read)

    def end_all(self) -> int:
        """End every connection in use, because the server has been silent for too long; returns how many."""
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
        """In a forked process: stop using the connections shared with the parent, and open new ones when needed."""
        engines = [self.engine, *([self._reserve] if "_reserve" in self.__dict__ else [])]
        self._inherited = [
            engine.pool for engine in engines
        ]  # Kept: garbage collection would close them for the parent too.
        for engine in engines:
            engine.dispose(close=False)

    @contextmanager
    def _told_plainly(self) -> Iterator[None]:
        """Turn driver errors into DatabaseProblem, with a code that says how to handle them."""
        try:
            yield
        except Exception as error:
            problem = told(error, shown(self.url))
            if problem is None:
                raise
            raise problem from error
