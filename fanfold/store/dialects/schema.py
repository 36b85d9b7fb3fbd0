"""What the declared tables say to single databases: SQLAlchemy takes the wishes of all of them, and tells each its own."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from fanfold.store.dialects.known import NAMES, named

Number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""A number of a row. SQLite counts up only what it calls INTEGER, which holds as much."""
COUNTED_UP: dict[str, Any] = {"sqlite_autoincrement": True}
"""No number is given twice, also not after its row is removed."""
OFTEN_CHANGED: dict[str, Any] = {"postgresql_with": {"fillfactor": "70"}}
"""Room for new versions of a row beside the old one: PostgreSQL then writes no new entries into indexes."""


def covering(*names: str) -> dict[str, Any]:
    """An index that also holds these columns, where it can."""
    return {"postgresql_include": list(names)}


def only_where(condition: sa.ColumnElement[bool]) -> dict[str, Any]:
    """An index of some rows only."""
    return {f"{name}_where": condition for name in NAMES}


def if_indexes_end_with_id(index: sa.Index, is_so: bool) -> None:
    """Make the index only on databases whose indexes end with the row's id, or only on the others."""

    def fits(*_: Any, dialect: Any, **__: Any) -> bool:
        return named(dialect.name).indexes_end_with_id is is_so

    index.ddl_if(callable_=fits)
