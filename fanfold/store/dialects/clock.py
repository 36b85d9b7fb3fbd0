"""What time is it? The database's clock in SQL: PostgreSQL's own, the host's on SQLite, a hand-turned one in tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect

NOTHING: sa.ColumnElement[int] = sa.literal_column("0", sa.Integer())


class UtcTime(sa.types.TypeDecorator[datetime]):
    """An aware UTC time: ``timestamptz`` on PostgreSQL, seconds since 1970 as REAL on SQLite."""

    impl = sa.Float
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> sa.types.TypeEngine[Any]:
        """The column's type on each database."""
        return dialect.type_descriptor(sa.DateTime(timezone=True) if dialect.name == "postgresql" else sa.Float())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """A time on its way to the database."""
        return value.timestamp() if value is not None and dialect.name != "postgresql" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """A time on its way back."""
        if value is None or isinstance(value, datetime):
            return value if value is None else value.astimezone(UTC)
        return datetime.fromtimestamp(value, UTC)


def host_time() -> datetime:
    """The host's clock."""
    return datetime.fromtimestamp(time.time(), UTC)


class Clock:
    """The current time and times near it, as SQL expressions for one database."""

    def __init__(self, dialect: str, read: Callable[[], datetime] | None = None) -> None:
        self.dialect = dialect
        if read is None and dialect == "postgresql":
            self.now: sa.ColumnElement[datetime] = sa.type_coerce(sa.func.statement_timestamp(), UtcTime())
        else:
            self.now = sa.bindparam("now", type_=UtcTime(), callable_=read or host_time)
        self._seconds = sa.bindparam(
            "now_seconds", type_=sa.Float(), callable_=lambda: (read or host_time)().timestamp()
        )

    def _span(self, seconds: Any) -> sa.ColumnElement[Any]:
        """So many seconds as an interval of PostgreSQL."""
        return sa.func.make_interval(*[NOTHING] * 6, seconds, type_=sa.Interval())

    def after(self, seconds: Any) -> sa.ColumnElement[datetime]:
        """The time so many seconds from now; a number, or an expression."""
        if self.dialect == "postgresql":
            return sa.type_coerce(self.now + self._span(seconds), UtcTime())
        return sa.type_coerce(self._seconds + seconds, UtcTime())

    def before(self, seconds: Any) -> sa.ColumnElement[datetime]:
        """The time so many seconds ago."""
        if self.dialect == "postgresql":
            return sa.type_coerce(self.now - self._span(seconds), UtcTime())
        return sa.type_coerce(self._seconds - seconds, UtcTime())

    def seconds_between(self, start: Any, end: Any) -> sa.ColumnElement[float]:
        """How many seconds passed from one moment to the other."""
        if self.dialect == "postgresql":
            return sa.func.date_part("epoch", end - start, type_=sa.Float)
        return sa.type_coerce(end, sa.Float) - sa.type_coerce(start, sa.Float)

    def seconds_since(self, moment: Any) -> sa.ColumnElement[float]:
        """How many seconds have passed since ``moment``."""
        if self.dialect == "postgresql":
            return sa.func.date_part("epoch", self.now - moment, type_=sa.Float)
        return self._seconds - sa.type_coerce(moment, sa.Float)
