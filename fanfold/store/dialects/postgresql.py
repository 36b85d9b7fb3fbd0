"""The PostgreSQL dialect: row locks, array parameters, COPY, the server's clock and notifications."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from fanfold.store.dialects.access import Wishes
from fanfold.store.dialects.bulk import Rows, replacing
from fanfold.store.dialects.dialect import Columns, Dialect, Places, Row, Upsert
from fanfold.store.dialects.postgresql_parts.postgresql_errors import PostgresqlErrors
from fanfold.store.dialects.postgresql_parts.postgresql_server import CHANNEL, PostgresqlServer, checked
from fanfold.store.dialects.sql_clock import SqlClock, UtcTime
from fanfold.store.schema.statements import run

NOTHING: sa.ColumnElement[int] = sa.literal_column("0", sa.Integer())
MANY, MUCH = 200, 0.1
"""New rows at once, as a number and as a share of the table, after which the planner needs new statistics."""


class ServerClock(SqlClock):
    """The server's clock, or a time passed to each statement."""

    def __init__(self, dialect: Dialect, read: Callable[[], datetime] | None) -> None:
        self.dialect = dialect
        if read is None:
            self.now = sa.type_coerce(sa.func.statement_timestamp(), UtcTime())
        else:
            self.now = sa.bindparam("now", type_=UtcTime(), callable_=read)

    def _span(self, seconds: Any) -> sa.ColumnElement[Any]:
        return sa.func.make_interval(*[NOTHING] * 6, seconds, type_=sa.Interval())

    def after(self, seconds: Any) -> sa.ColumnElement[datetime]:
        """The time ``seconds`` from now."""
        return sa.type_coerce(self.now + self._span(seconds), UtcTime())

    def before(self, seconds: Any) -> sa.ColumnElement[datetime]:
        """The time ``seconds`` ago."""
        return sa.type_coerce(self.now - self._span(seconds), UtcTime())

    def seconds_between(self, start: Any, end: Any) -> sa.ColumnElement[float]:
        """An interval as seconds."""
        return sa.func.date_part("epoch", end - start, type_=sa.Float)

    def seconds_since(self, moment: Any) -> sa.ColumnElement[float]:
        """Seconds since ``moment``."""
        return self.seconds_between(moment, self.now)


class Postgresql(Dialect):
    """What differs on PostgreSQL."""

    name = "postgresql"
    errors = PostgresqlErrors()
    locks_rows = True
    indexes_end_with_id = False
    joins_updates = True
    time_type = sa.DateTime(timezone=True)
    beginning = datetime(1970, 1, 1, tzinfo=UTC)

    def checked(self, url: sa.URL) -> sa.URL:
        """The driver is psycopg; the URL may name a pooler."""
        return checked(url)

    def access(self, url: sa.URL, wishes: Wishes) -> PostgresqlServer:
        """Access to the server."""
        return PostgresqlServer(url, wishes)

    def clock(self, read: Callable[[], datetime] | None = None) -> SqlClock:
        """The server's clock."""
        return ServerClock(self, read)

    def time_sent(self, value: datetime) -> datetime:
        """Unchanged."""
        return value

    def insert(self, table: sa.Table) -> Upsert:
        """PostgreSQL's INSERT."""
        return cast("Upsert", postgresql.insert(table))

    def unfolded(self, columns: Columns) -> sa.FromClause:
        """From a JSON list, with its types."""
        rows = sa.bindparam("rows", type_=Rows())
        typed = [sa.column(name, kind) for name, kind in columns.items()]
        function = sa.func.json_to_recordset(sa.cast(rows, postgresql.JSON))
        return function.table_valued(*typed).render_derived(name="batch", with_types=True)

    def unnested(self, columns: Columns) -> sa.FromClause:
        """From one array per column, whose length the planner knows."""
        arrays = [sa.bindparam(name, type_=postgresql.ARRAY(kind)) for name, kind in columns.items()]
        typed = [sa.column(name, kind) for name, kind in columns.items()]
        return sa.func.unnest(*arrays).table_valued(*typed).render_derived(name="batch")

    def short_values(self, names: Sequence[str], rows: Sequence[Row]) -> dict[str, Any]:
        """One list per column."""
        return {name: [row[name] for row in rows] for name in names}

    def listed(self, name: str) -> sa.Select[Any]:
        """From an array."""
        return sa.select(sa.func.unnest(_numbers(name)).column_valued(name))

    def among(self, column: sa.ColumnElement[Any], name: str = "ids") -> sa.ColumnElement[bool]:
        """`= ANY(array)`."""
        return column == sa.any_(_numbers(name))

    def one_of(self, column: sa.ColumnElement[Any], limited: sa.Select[Any]) -> sa.ColumnElement[bool]:
        """`= ANY(ARRAY(…))` keeps the planner from running the limited subquery more than once."""
        return column == sa.any_(sa.func.array(limited.scalar_subquery()))

    def append_rows(
        self, connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """COPY."""
        driver = connection.connection.driver_connection
        assert driver is not None
        columns = ", ".join(f'"{name}"' for name in names)
        with driver.cursor() as cursor, cursor.copy(f"COPY {table.name} ({columns}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def put_rows(self, connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
        """One statement with a JSON list: executemany is fifty times slower."""
        run(connection, _put(table, tuple(rows[0])), {"rows": list(rows)})

    def add_listed(
        self, connection: sa.Connection, table: sa.Table, names: tuple[str, ...], places: Places, values: Row
    ) -> Sequence[int]:
        """One statement for all rows, which returns their ids in one value."""
        [(ids,)] = run(connection, _add_listed(table, names, places), values)
        return cast("list[int]", ids)

    def reserve_number(self, connection: sa.Connection, column: sa.Column[int]) -> int:
        """The next number of the column's sequence."""
        sequence = sa.func.pg_get_serial_sequence(column.table.name, column.name)
        return int(connection.execute(sa.select(sa.func.nextval(sequence))).scalar_one())

    def json_list(self, document: sa.ColumnElement[str], field: str, name: str) -> sa.FromClause:
        """Its elements, one per row."""
        elements = sa.func.jsonb_array_elements(_quoted(sa.cast(document, postgresql.JSONB), "->", field))
        return elements.table_valued("value", joins_implicitly=True).render_derived(name=name)

    def day(self, moment: sa.ColumnElement[datetime]) -> sa.ColumnElement[str]:
        """In UTC, whatever the connection's time zone. Without parameters, because it is used in GROUP BY."""
        there = sa.func.timezone(sa.literal_column("'UTC'"), moment)
        return sa.func.to_char(there, sa.literal_column("'YYYY-MM-DD'"), type_=sa.Text())

    def json_field(self, value: sa.ColumnElement[Any], field: str) -> sa.ColumnElement[Any]:
        """The field as text."""
        return _quoted(value, "->>", field)

    def whole(self, number: sa.ColumnElement[float]) -> sa.ColumnElement[Any]:
        """Uses floor(), because a cast would round."""
        return sa.func.floor(number)

    def only_checked(self, condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
        """The planner never joins on `IS true`."""
        return condition.is_(sa.true())

    def only_equal(self, column: sa.ColumnElement[str], text: str) -> sa.ColumnElement[bool]:
        """`|| ''` makes it an expression, which no index has."""
        return column + "" == text

    def analyze(self, connection: sa.Connection, table: sa.Table, new: int, *others: str) -> None:
        """Run ANALYZE if the table grew a lot at once.

        Otherwise the planner has no statistics until autovacuum runs, up to a minute later, and until then a claim reads every
        pending item (about 33 ms with 60 000 of them).
        """
        if new < MANY:
            return
        known = connection.execute(sa.text(f"SELECT reltuples FROM pg_class WHERE oid = '{table.name}'::regclass"))
        if new > max(0.0, float(known.scalar_one())) * MUCH:
            connection.execute(sa.text(f"ANALYZE {', '.join((table.name, *others))}"))

    def announce(self, connection: sa.Connection) -> None:
        """NOTIFY all listeners."""
        connection.execute(sa.select(sa.func.pg_notify(CHANNEL, "")))

    def is_read_only(self, connection: sa.Connection) -> bool:
        """Whether the server is read-only, for instance after a failover."""
        return str(connection.execute(sa.text("SHOW transaction_read_only")).scalar_one()) == "on"

    def trigger_statements(self, refused: Mapping[str, str]) -> list[str]:
        """One trigger per table, and the function that they share."""
        refuse = (
            "CREATE FUNCTION fanfold_refuse_move() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'illegal move in %: % to %', TG_TABLE_NAME, OLD.state, NEW.state "
            "USING ERRCODE = 'check_violation'; END $$"
        )
        return [refuse] + [
            f"CREATE TRIGGER {table}_legal_move BEFORE UPDATE OF state ON {table} FOR EACH ROW "
            f"WHEN ({illegal}) EXECUTE FUNCTION fanfold_refuse_move()"
            for table, illegal in refused.items()
        ]

    def append_only_statements(self, table: str) -> list[str]:
        """A function that refuses, and a trigger that calls it."""
        refuse = (
            "CREATE FUNCTION fanfold_refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation'; END $$"
        )
        return [
            refuse,
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION fanfold_refuse_change()",
        ]


def _quoted(value: sa.ColumnElement[Any], operator: str, field: str) -> sa.ColumnElement[Any]:
    return value.op(operator)(sa.literal_column(f"'{field}'", sa.Text()))


def _numbers(name: str) -> sa.BindParameter[Any]:
    return sa.bindparam(name, type_=postgresql.ARRAY(sa.BigInteger))


@cache
def _put(table: sa.Table, names: tuple[str, ...]) -> sa.Executable:
    batch = DIALECT.unfolded({name: _simple(table.c[name].type) for name in names})
    made = DIALECT.insert(table).from_select(list(names), sa.select(*(batch.c[name] for name in names)))
    return replacing(made, table, names)


def _simple(kind: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any]:
    return sa.Text() if isinstance(kind, sa.String) else kind


@cache
def _add_listed(table: sa.Table, names: tuple[str, ...], places: Places) -> sa.Executable:
    """Rows get ascending ids in list order, even if others take ids at the same time."""
    keys = sa.func.unnest(sa.bindparam("keys", type_=postgresql.ARRAY(sa.Text)))
    each = keys.table_valued(sa.column("key", sa.Text), with_ordinality="place").render_derived(name="each_key")
    chosen = sa.select(*places(sa.cast(each.c.place, sa.Integer) - 1, each.c.key)).order_by(each.c.place)
    added = sa.insert(table).from_select(names, chosen).returning(table.c.id).cte("added")
    return sa.select(sa.func.array_agg(postgresql.aggregate_order_by(added.c.id, added.c.id)))


DIALECT = Postgresql()
