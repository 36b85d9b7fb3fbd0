"""Options of the declared tables that apply to one database only. SQLAlchemy takes all of them and ignores foreign ones."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from fanfold.store.dialects.known import NAMES, named

Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""The id of a row. SQLite autoincrements only INTEGER, which is just as large."""
COUNTED_UP: dict[str, Any] = {"sqlite_autoincrement": True}
"""Ids are never reused, even after their row is removed."""
OFTEN_CHANGED: dict[str, Any] = {"postgresql_with": {"fillfactor": "70"}}
"""Leaves room for new row versions on the same page, so that PostgreSQL writes no new index entries (HOT updates)."""


def covering(*names: str) -> dict[str, Any]:
    """Index that also stores these columns, where supported."""
    return {"postgresql_include": list(names)}


def only_where(condition: sa.ColumnElement[bool]) -> dict[str, Any]:
    """Partial index."""
    return {f"{name}_where": condition for name in NAMES}


def only_if_compared(column: sa.ColumnElement[Any]) -> dict[str, Any]:
    """On SQLite, an index only for queries that compare this column, which is never NULL; elsewhere, for all.

    Without statistics, SQLite takes any index with the right first column, even if the order of another one would save a sort.
    """
    return {"sqlite_where": column.is_not(None)}


def if_indexes_end_with_id(index: sa.Index, is_so: bool) -> None:
    """Create the index only on databases whose indexes end with the row's id, or only on the others."""

    def fits(*_: Any, dialect: Any, **__: Any) -> bool:
        return named(dialect.name).indexes_end_with_id is is_so

    index.ddl_if(callable_=fits)
