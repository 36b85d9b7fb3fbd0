"""Sends many rows in one statement, as one JSON parameter that the database expands into a table."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from fanfold.store.dialects.dialect import Dialect, Row, Upsert
from fanfold.store.dialects.known import of
from fanfold.store.schema.statements import changed_by

LEASE_COLUMNS: dict[str, sa.types.TypeEngine[Any]] = {"id": sa.BigInteger(), "lease": sa.Integer()}


class Rows(sa.types.TypeDecorator[Any]):
    """A list of rows as JSON text."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> str:
        """The list as one JSON text."""
        return json.dumps(value, separators=(",", ":"))


def append_rows(
    connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Insert many plain rows as fast as the database can."""
    of(connection).append_rows(connection, table, names, rows)


def put_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    """Insert rows with the same columns, or replace these columns where the primary key already exists."""
    if rows:
        of(connection).put_rows(connection, table, rows)


def replacing(made: Upsert, table: sa.Table, names: Sequence[str]) -> sa.Executable:
    """An INSERT of these columns that replaces them where the primary key already exists."""
    keys = [column.name for column in table.primary_key if column.name in names]
    others = {name: made.excluded[name] for name in names if name not in keys}
    if keys and others:
        return made.on_conflict_do_update(index_elements=keys, set_=others)
    assert isinstance(made, sa.Insert)
    return made


def remove_rows(connection: sa.Connection, table: sa.Table, ids: Sequence[int], limit: int) -> int:
    """Remove at most ``limit`` rows that belong to these items; returns how many."""
    return changed_by(connection, _limited_removal(of(connection), table), {"ids": list(ids), "most": limit})


@cache
def _limited_removal(dialect: Dialect, table: sa.Table) -> sa.Delete:
    key = tuple(table.primary_key)
    some = sa.select(*key).where(dialect.among(table.c.item)).limit(sa.bindparam("most", type_=sa.Integer))
    return sa.delete(table).where(key[0].in_(some) if len(key) == 1 else sa.tuple_(*key).in_(some))


def remove_all(connection: sa.Connection, column: sa.Column[Any], ids: Collection[int]) -> int:
    """Remove all rows whose ``column`` is one of these ids; returns how many."""
    return changed_by(connection, _removal(of(connection), column), {"ids": list(ids)})


@cache
def _removal(dialect: Dialect, column: sa.Column[Any]) -> sa.Delete:
    return sa.delete(column.table).where(dialect.among(column))
