"""Lists the supported databases. To add one, write a module in this folder with a ``DIALECT``, and add a line here."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, cast

from fanfold.errors import DatabaseProblem

if TYPE_CHECKING:
    import sqlalchemy as sa

    from fanfold.store.dialects.dialect import Dialect

DRIVERS = {"sqlite3": "sqlite", "pysqlite3": "sqlite", "psycopg": "postgresql"}
"""Top-level module of a driver's errors → dialect."""
NAMES = tuple(dict.fromkeys(DRIVERS.values()))
MALFORMED = (
    "The database URL is malformed. Use sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/name."
)
SPELLINGS = {"postgres": "postgresql"}
"""Alternative names in URLs."""


@cache
def named(name: str) -> Dialect:
    """The dialect with this SQLAlchemy name; its module is loaded on first use."""
    assert name in NAMES, name
    return cast("Dialect", importlib.import_module(f"{__package__}.{name}").DIALECT)


def of(connection: sa.Connection) -> Dialect:
    """The dialect of a connection."""
    return named(connection.dialect.name)


def of_url(url: sa.URL) -> Dialect:
    """The dialect of the database at a URL; DatabaseProblem if it is not supported."""
    backend = SPELLINGS.get(url.get_backend_name(), url.get_backend_name())
    if backend in NAMES:
        return named(backend)
    raise DatabaseProblem(
        f"Fanfold keeps its state in SQLite or PostgreSQL, not in {backend}. Use sqlite:///… or postgresql://…"
    )


def of_error(error: BaseException) -> Dialect | None:
    """The dialect whose driver raised the error. Drivers share no base class."""
    name = DRIVERS.get(type(error).__module__.split(".")[0])
    return None if name is None else named(name)
