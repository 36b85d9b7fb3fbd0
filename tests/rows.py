"""Counts the rows that a transaction writes, in the database itself, in whatever way they are written."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from fanfold.store.store import Store

WRITTEN = "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_xact_user_tables"


class RowMeter:
    """Notes, for each transaction that commits, how many rows it has written."""

    def __init__(self) -> None:
        self.written: list[int] = []
        self.before_commit: Callable[[int], None] = lambda number: None
        """Called with the number of writing transactions so far; an exception from it rolls back the next one."""

    @property
    def most(self) -> int:
        """The largest transaction so far."""
        return max(self.written, default=0)

    @property
    def commits(self) -> int:
        """How many transactions wrote anything."""
        return len(self.written)

    def _begin(self, connection: sa.Connection) -> None:
        connection.info["rows_before"] = rows_so_far(connection)

    def _commit(self, connection: sa.Connection) -> None:
        rows = rows_so_far(connection) - connection.info["rows_before"]
        if rows:
            self.before_commit(len(self.written))
            self.written.append(rows)


def rows_so_far(connection: sa.Connection) -> int:
    """Rows that a connection has written; on PostgreSQL those that it has not told the server's statistics yet."""
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        return int(driver.total_changes)
    return 0 if driver.autocommit else int(driver.execute(WRITTEN).fetchone()[0])


@contextmanager
def rows_counted(store: Store) -> Iterator[RowMeter]:
    """Count the rows of every transaction of a store meanwhile."""
    meter = RowMeter()
    engines = [store.database.engine, store.database._reserve]
    for engine in engines:
        sa.event.listen(engine, "begin", meter._begin)
        sa.event.listen(engine, "commit", meter._commit)
    try:
        yield meter
    finally:
        for engine in engines:
            sa.event.remove(engine, "begin", meter._begin)
            sa.event.remove(engine, "commit", meter._commit)
