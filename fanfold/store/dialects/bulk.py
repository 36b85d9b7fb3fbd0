"""How do many rows travel in one statement? As one JSON parameter that the database unfolds into a table."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from fanfold.store.statements import changed_by, run, run_many

Row = Mapping[str, Any]


class Rows(sa.types.TypeDecorator[Any]):
    """A list of rows as JSON text."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> str:
        """The list as one text."""
        return json.dumps(value, separators=(",", ":"))


def unfolded(dialect: str, columns: Mapping[str, sa.types.TypeEngine[Any]]) -> sa.FromClause:
    """The parameter ``rows`` (a list of mappings) as a table with the given columns."""
    rows = sa.bindparam("rows", type_=Rows())
    if dialect == "postgresql":
        typed = [sa.column(name, kind) for name, kind in columns.items()]
        function = sa.func.json_to_recordset(sa.cast(rows, postgresql.JSON))
        return function.table_valued(*typed).render_derived(name="batch", with_types=True)
    value = sa.func.json_each(rows).table_valued("value", name="each_row").c.value
    return sa.select(
        *(sa.type_coerce(sa.func.json_extract(value, f"$.{name}"), kind).label(name) for name, kind in columns.items())
    ).subquery("batch")


def unnested(dialect: str, columns: Mapping[str, sa.types.TypeEngine[Any]]) -> sa.FromClause:
    """The same for short values; on PostgreSQL from an array per column, of which its planner knows how many rows there are."""
    if dialect == "sqlite":
        return unfolded(dialect, columns)
    arrays = [sa.bindparam(name, type_=postgresql.ARRAY(kind)) for name, kind in columns.items()]
    typed = [sa.column(name, kind) for name, kind in columns.items()]
    return sa.func.unnest(*arrays).table_valued(*typed).render_derived(name="batch")


def short_values(dialect: str, names: Sequence[str], rows: Sequence[Row]) -> dict[str, Any]:
    """The parameters of ``unnested``."""
    if dialect == "sqlite":
        whole = len(rows[0]) == len(names)
        return {"rows": rows if whole else [{name: row[name] for name in names} for row in rows]}
    return {name: [row[name] for row in rows] for name in names}


def listed(dialect: str, name: str) -> sa.Select[Any]:
    """The numbers of a parameter, one per row."""
    if dialect == "postgresql":
        numbers = sa.func.unnest(sa.bindparam(name, type_=postgresql.ARRAY(sa.BigInteger)))
        return sa.select(numbers.column_valued(name))
    return sa.select(sa.func.json_each(sa.bindparam(name, type_=Rows())).table_valued("value").c.value)


def among(dialect: str, column: sa.ColumnElement[Any], name: str = "ids") -> sa.ColumnElement[bool]:
    """The column is one of the numbers of a parameter.

    One parameter for all of them, in a statement that is built once: with one for each, Python would take several times as long
    as SQLite, while the transaction holds the write lock.
    """
    if dialect == "postgresql":
        return column == sa.any_(sa.bindparam(name, type_=postgresql.ARRAY(sa.BigInteger)))
    return column.in_(listed(dialect, name))


LEASE_COLUMNS: dict[str, sa.types.TypeEngine[Any]] = {"id": sa.BigInteger(), "lease": sa.Integer()}


def append_rows(
    connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Insert many plain rows as fast as the database can: COPY on PostgreSQL, executemany of the driver on SQLite."""
    columns = ", ".join(f'"{name}"' for name in names)
    driver = connection.connection.driver_connection
    assert driver is not None
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" for _ in names)
        driver.executemany(f"INSERT INTO {table.name} ({columns}) VALUES ({marks})", rows)
        return
    with driver.cursor() as cursor, cursor.copy(f"COPY {table.name} ({columns}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def put_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    """Insert rows of equal shape, or replace the columns they name where the primary key exists already."""
    if rows:
        statement = _put(connection.dialect.name, table, tuple(rows[0]))
        if connection.dialect.name == "postgresql":
            run(connection, statement, {"rows": list(rows)})
        else:
            run_many(connection, statement, rows)


def remove_rows(connection: sa.Connection, table: sa.Table, ids: Sequence[int], limit: int) -> int:
    """Remove at most ``limit`` rows that belong to these items; returns how many."""
    return changed_by(connection, _limited_removal(connection.dialect.name, table), {"ids": list(ids), "most": limit})


@cache
def _limited_removal(dialect: str, table: sa.Table) -> sa.Delete:
    key = tuple(table.primary_key)
    some = sa.select(*key).where(among(dialect, table.c.item)).limit(sa.bindparam("most", type_=sa.Integer))
    return sa.delete(table).where(key[0].in_(some) if len(key) == 1 else sa.tuple_(*key).in_(some))


def remove_all(connection: sa.Connection, column: sa.Column[Any], ids: Collection[int]) -> int:
    """Remove all rows of a table with one of these numbers in a column; returns how many."""
    return changed_by(connection, _removal(connection.dialect.name, column), {"ids": list(ids)})


@cache
def _removal(dialect: str, column: sa.Column[Any]) -> sa.Delete:
    return sa.delete(column.table).where(among(dialect, column))


@cache
def _put(dialect: str, table: sa.Table, names: tuple[str, ...]) -> sa.Insert:
    """executemany on SQLite; one unfolded statement on PostgreSQL, where executemany is fifty times slower."""
    keys = [column.name for column in table.primary_key if column.name in names]
    others = [name for name in names if name not in keys]
    if dialect == "sqlite":
        plain = sqlite.insert(table).values({name: sa.bindparam(name) for name in names})
        return (
            plain.on_conflict_do_update(index_elements=keys, set_={name: plain.excluded[name] for name in others})
            if keys and others
            else plain
        )
    batch = unfolded(dialect, {name: _simple(table.c[name].type) for name in names})
    made = postgresql.insert(table).from_select(list(names), sa.select(*(batch.c[name] for name in names)))
    return (
        made.on_conflict_do_update(index_elements=keys, set_={name: made.excluded[name] for name in others})
        if keys and others
        else made
    )


def _simple(kind: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any]:
    return sa.Text() if isinstance(kind, sa.String) else kind
