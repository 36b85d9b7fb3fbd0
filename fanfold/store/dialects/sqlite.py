"""The SQLite dialect: one writer at a time, lists as JSON, times as numbers, and the host's clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from fanfold.errors import DatabaseProblem
from fanfold.model.text.sentences import say
from fanfold.store.database_errors import DAMAGED, MISFIT, REFUSED, UNREACHABLE
from fanfold.store.dialects.access import DatabaseAccess, Wishes
from fanfold.store.dialects.bulk import Rows, replacing
from fanfold.store.dialects.dialect import Columns, Dialect, Errors, Places, Row, Spoiled, Upsert, Version
from fanfold.store.dialects.poolers import POOLERS
from fanfold.store.dialects.sql_clock import SqlClock, UtcTime, host_time
from fanfold.store.dialects.sqlite_parts.ephemeral import refuse_ephemeral
from fanfold.store.dialects.sqlite_parts.sqlite_file import SqliteFile
from fanfold.store.dialects.sqlite_parts.sqlite_memory import IN_MEMORY, SqliteMemory
from fanfold.store.dialects.sqlite_parts.sqlite_module import SAFE_SQLITE, sqlite_version
from fanfold.store.schema.statements import fetch_value, run, run_many

CODES = {
    REFUSED: (18, 19, 20, 25),  # too big, constraint, mismatch, range
    DAMAGED: (11, 26),  # corrupt, not a database
}
PLAIN_ERROR = 1
MISFITS = ("no such ", "has no column", "syntax error", "already exists", "values for")
NEWEST_SCHEMA = Path(__file__).parent / "sqlite_parts" / "newest_schema.sql"
BETWEEN = ";\n\n"
"""Between the statements of the file."""
_LAST_IDS = sa.table("sqlite_sequence", sa.column("name", sa.Text()), sa.column("seq", sa.Integer()))
LAST_ID = sa.select(_LAST_IDS.c.seq).where(_LAST_IDS.c.name == sa.bindparam("wanted"))
READ_ONLY_FILE = "readonly database"


class SqliteErrors(Errors):
    """Classifies SQLite's errors by number, and by text where one number has several meanings."""

    ways_out: Mapping[str, str] = {
        "disk is full": say("way_disk_full"),
        READ_ONLY_FILE: say("way_read_only"),
        "disk I/O error": say("way_disk_error"),
        "unable to open database file": say("way_not_opened"),
        "no error details": say("way_open_files"),
        "is locked": say("way_locked"),
    }

    def meaning(self, error: BaseException) -> str:
        """By the number. The driver refuses a text of over a gigabyte with an error that has no number."""
        number = getattr(error, "sqlite_errorcode", None)
        if number is None:
            refused = type(error).__name__ in ("DataError", "IntegrityError") or "binding parameter" in str(error)
            return REFUSED if refused else UNREACHABLE
        primary = number & 0xFF
        if primary == PLAIN_ERROR and any(sign in str(error) for sign in MISFITS):
            return MISFIT
        return next((code for code, numbers in CODES.items() if primary in numbers), UNREACHABLE)

    def spoils(self, error: BaseException, connection: Any) -> Spoiled:
        """Connections to a file that became read-only stay read-only even when it can be written again."""
        read_only = READ_ONLY_FILE in str(error)
        return Spoiled(connection=read_only, pool=read_only)


class HostClock(SqlClock):
    """The host's clock: the time is passed to each statement."""

    def __init__(self, dialect: Dialect, read: Callable[[], datetime] | None) -> None:
        reading = read or host_time
        self.dialect = dialect
        self.now = sa.bindparam("now", type_=UtcTime(), callable_=reading)
        self._seconds = sa.bindparam("now_seconds", type_=sa.Float(), callable_=lambda: reading().timestamp())

    def after(self, seconds: Any) -> sa.ColumnElement[datetime]:
        """The time ``seconds`` from now."""
        return sa.type_coerce(self._seconds + seconds, UtcTime())

    def before(self, seconds: Any) -> sa.ColumnElement[datetime]:
        """The time ``seconds`` ago."""
        return sa.type_coerce(self._seconds - seconds, UtcTime())

    def seconds_between(self, start: Any, end: Any) -> sa.ColumnElement[float]:
        """Times are stored as seconds."""
        return sa.type_coerce(end, sa.Float) - sa.type_coerce(start, sa.Float)

    def seconds_since(self, moment: Any) -> sa.ColumnElement[float]:
        """Seconds since ``moment``."""
        return self._seconds - sa.type_coerce(moment, sa.Float)


class Sqlite(Dialect):
    """What differs on SQLite."""

    name = "sqlite"
    errors = SqliteErrors()
    locks_rows = False
    indexes_end_with_id = True
    joins_updates = False
    time_type = sa.Float()
    beginning = -1.0

    def checked(self, url: sa.URL) -> sa.URL:
        """Checks that three slashes come before the path; after two, the text would be a host name."""
        if (mode := url.query.get("pooler")) is not None:
            raise DatabaseProblem(
                f"pooler={mode} is not possible for SQLite. A PostgreSQL URL takes {', '.join(POOLERS)}."
            )
        if url.host:
            raise DatabaseProblem(
                f"A SQLite URL has three slashes before a relative path: sqlite:///{url.host}/{url.database or ''}"
            )
        return url.set(drivername="sqlite")

    def access(self, url: sa.URL, wishes: Wishes) -> DatabaseAccess:
        """Access to the file, or to a database in memory."""
        if url.database in IN_MEMORY:
            return SqliteMemory(url)
        refuse_ephemeral(Path(str(url.database)))
        return SqliteFile(url, wishes)

    def clock(self, read: Callable[[], datetime] | None = None) -> SqlClock:
        """The host's clock."""
        return HostClock(self, read)

    def time_sent(self, value: datetime) -> float:
        """Seconds since 1970."""
        return value.timestamp()

    def insert(self, table: sa.Table) -> Upsert:
        """SQLite's INSERT."""
        return cast("Upsert", sqlite.insert(table))

    def unfolded(self, columns: Columns) -> sa.FromClause:
        """From a JSON list, field by field."""
        rows = sa.bindparam("rows", type_=Rows())
        value = sa.func.json_each(rows).table_valued("value", name="each_row").c.value
        fields = (
            sa.type_coerce(sa.func.json_extract(value, f"$.{name}"), kind).label(name) for name, kind in columns.items()
        )
        return sa.select(*fields).subquery("batch")

    def unnested(self, columns: Columns) -> sa.FromClause:
        """The same as ``unfolded``."""
        return self.unfolded(columns)

    def short_values(self, names: Sequence[str], rows: Sequence[Row]) -> dict[str, Any]:
        """The rows, reduced to these columns."""
        whole = len(rows[0]) == len(names)
        return {"rows": rows if whole else [{name: row[name] for name in names} for row in rows]}

    def listed(self, name: str) -> sa.Select[Any]:
        """From a JSON list."""
        return sa.select(sa.func.json_each(sa.bindparam(name, type_=Rows())).table_valued("value").c.value)

    def among(self, column: sa.ColumnElement[Any], name: str = "ids") -> sa.ColumnElement[bool]:
        """`IN` the JSON list."""
        return column.in_(self.listed(name))

    def one_of(self, column: sa.ColumnElement[Any], limited: sa.Select[Any]) -> sa.ColumnElement[bool]:
        """A plain `IN`: SQLite runs the subquery only once."""
        return column.in_(limited)

    def append_rows(
        self, connection: sa.Connection, table: sa.Table, names: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """The driver's own executemany."""
        driver = connection.connection.driver_connection
        assert driver is not None
        columns = ", ".join(f'"{name}"' for name in names)
        marks = ", ".join("?" for _ in names)
        driver.executemany(f"INSERT INTO {table.name} ({columns}) VALUES ({marks})", rows)

    def put_rows(self, connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
        """The driver's own executemany."""
        run_many(connection, _put(table, tuple(rows[0])), rows)

    def add_listed(
        self, connection: sa.Connection, table: sa.Table, names: tuple[str, ...], places: Places, values: Row
    ) -> Sequence[int]:
        """One statement for all rows, with their ids given.

        With one statement per row SQLite would store the last id each time, which takes longer than the row.
        """
        first = int(fetch_value(connection, LAST_ID, {"wanted": table.name}) or 0) + 1
        run(connection, _add_listed(table, names, places), {**values, "first_id": first})
        return range(first, first + len(values["keys"]))

    def reserve_number(self, connection: sa.Connection, column: sa.Column[int]) -> int:
        """SQLite stores the last number of a table only after its first row."""
        table = column.table.name
        counted = f"UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = '{table}' RETURNING seq"
        number = connection.execute(sa.text(counted)).scalar()
        if number is None:
            connection.execute(sa.text(f"INSERT INTO sqlite_sequence (name, seq) VALUES ('{table}', 1)"))
        return int(number or 1)

    def json_list(self, document: sa.ColumnElement[str], field: str, name: str) -> sa.FromClause:
        """Its elements, one per row."""
        return sa.func.json_each(document, _path(field)).table_valued("value", name=name, joins_implicitly=True)

    def json_field(self, value: sa.ColumnElement[Any], field: str) -> sa.ColumnElement[Any]:
        """The field as number or text."""
        return sa.func.json_extract(value, _path(field))

    def whole(self, number: sa.ColumnElement[float]) -> sa.ColumnElement[Any]:
        """Uses a cast, which drops the fraction; `floor` is not in every build."""
        return sa.cast(number, sa.Integer())

    def day(self, moment: sa.ColumnElement[datetime]) -> sa.ColumnElement[str]:
        """Times are seconds since 1970."""
        seconds = sa.type_coerce(moment, sa.Float())
        return sa.func.strftime(
            sa.literal_column("'%Y-%m-%d'"), seconds, sa.literal_column("'unixepoch'"), type_=sa.Text()
        )

    def hidden(self, number: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        """`+ 0` makes it an expression, which no index has."""
        return number + 0

    def newest_schema(self) -> tuple[str, list[str]]:
        """From a file, which `make docs` writes. Importing Alembic and running all migrations takes as long as everything else
        that the first command of a new user does.
        """
        revision, *statements = NEWEST_SCHEMA.read_text(encoding="utf-8").split(BETWEEN)
        return revision.removeprefix("-- ").strip(), statements

    def trigger_statements(self, refused: Mapping[str, str]) -> list[str]:
        """One trigger per table."""
        return [
            f"CREATE TRIGGER {table}_legal_move BEFORE UPDATE OF state ON {table} WHEN {illegal} "
            f"BEGIN SELECT RAISE(ABORT, 'illegal move in {table}'); END"
            for table, illegal in refused.items()
        ]

    def append_only_statements(self, table: str) -> list[str]:
        """One trigger per verb."""
        return [
            f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            for verb in ("UPDATE", "DELETE")
        ]

    @property
    def version(self) -> Version:
        """Whether SQLite has the bug that can corrupt its log."""
        version = ".".join(map(str, sqlite_version()))
        if sqlite_version() >= SAFE_SQLITE:
            return Version(say("sqlite_version", version=version))
        safe = ".".join(map(str, SAFE_SQLITE))
        return Version(say("sqlite_unsafe", version=version), say("sqlite_advice", safe=safe))


def _path(field: str) -> sa.ColumnElement[str]:
    return sa.literal_column(f"'$.{field}'", sa.Text())


@cache
def _put(table: sa.Table, names: tuple[str, ...]) -> sa.Executable:
    made = DIALECT.insert(table).values({name: sa.bindparam(name) for name in names})
    return replacing(made, table, names)


@cache
def _add_listed(table: sa.Table, names: tuple[str, ...], places: Places) -> sa.Executable:
    each = sa.func.json_each(sa.bindparam("keys", type_=Rows())).table_valued("key", "value", name="each_key")
    new = sa.bindparam("first_id", type_=sa.Integer) + each.c.key
    return sa.insert(table).from_select(("id", *names), sa.select(new, *places(each.c.key, each.c.value)))


DIALECT = Sqlite()
