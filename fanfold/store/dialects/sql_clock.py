"""The database's clock in SQL: PostgreSQL's own, the host's on SQLite, a manual one in tests."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fanfold.store.dialects.known import named

if TYPE_CHECKING:
    from sqlalchemy.engine import interfaces

    from fanfold.store.dialects.dialect import Dialect


class UtcTime(sa.types.TypeDecorator[datetime]):
    """An aware UTC time: ``timestamptz`` on PostgreSQL, seconds since 1970 as REAL on SQLite."""

    impl = sa.Float
    cache_ok = True

    def load_dialect_impl(self, dialect: interfaces.Dialect) -> sa.types.TypeEngine[Any]:
        """The column's type on each database."""
        return dialect.type_descriptor(named(dialect.name).time_type)

    def process_bind_param(self, value: datetime | None, dialect: interfaces.Dialect) -> Any:
        """Convert a time for the database."""
        return None if value is None else named(dialect.name).time_sent(value)

    def process_result_value(self, value: Any, dialect: interfaces.Dialect) -> datetime | None:
        """Convert a time from the database."""
        if value is None or isinstance(value, datetime):
            return value if value is None else value.astimezone(UTC)
        return datetime.fromtimestamp(value, UTC)


def host_time() -> datetime:
    """The host's clock."""
    return datetime.fromtimestamp(time.time(), UTC)


class SqlClock(ABC):
    """The current time and times near it, as SQL expressions for one database."""

    dialect: Dialect
    now: sa.ColumnElement[datetime]

    @abstractmethod
    def after(self, seconds: Any) -> sa.ColumnElement[datetime]:
        """The time ``seconds`` (a number or an expression) from now."""

    @abstractmethod
    def before(self, seconds: Any) -> sa.ColumnElement[datetime]:
        """The time ``seconds`` ago."""

    @abstractmethod
    def seconds_between(self, start: Any, end: Any) -> sa.ColumnElement[float]:
        """Seconds from ``start`` to ``end``."""

    @abstractmethod
    def seconds_since(self, moment: Any) -> sa.ColumnElement[float]:
        """Seconds since ``moment``."""
