"""Which databases are there? A new one is a module of this folder with a ``DIALECT``, and a line here."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, cast

from fanfold.errors import DatabaseProblem

if TYPE_CHECKING:
    import sqlalchemy as sa

    from fanfold.store.dialects.dialect import Dialect

DRIVERS = {"sqlite3": "sqlite", "pysqlite3": "sqlite", "psycopg": "postgresql"}
"""The drivers, by the first part of the module that their errors come from, and whose they are."""
NAMES = tuple(dict.fromkeys(DRIVERS.values()))
MALFORMED = (
    "The database URL is malformed. Use sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/name."
)
SPELLINGS = {"postgres": "postgresql"}
"""What people write in a URL instead of a name."""


@cache
def named(name: str) -> Dialect:
    """The dialect that SQLAlchemy calls by this name; its module is loaded when it is first needed."""
    assert name in NAMES, name
    return cast("Dialect", importlib.import_module(f"{__package__}.{name}").DIALECT)


def of(connection: sa.Connection) -> Dialect:
    """The dialect that is spoken on a connection."""
    return named(connection.dialect.name)


def of_url(url: sa.URL) -> Dialect:
    """The dialect of the database at a URL; DatabaseProblem when there is none."""
    backend = SPELLINGS.get(url.get_backend_name(), url.get_backend_name())
    if backend in NAMES:
        return named(backend)
    raise DatabaseProblem(
        f"Fanfold keeps its state in SQLite or PostgreSQL, not in {backend}. Use sqlite:///… or postgresql://…"
    )


def of_error(error: BaseException) -> Dialect | None:
    """The dialect whose driver has raised the error; drivers share no base class."""
    name = DRIVERS.get(type(error).__module__.split(".")[0])
    return None if name is None else named(name)
