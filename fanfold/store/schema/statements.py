"""Runs frequent statements fast: each is compiled to text once, and then only its values go to the driver.

What SQLAlchemy does for each execution (a cache key, parameters, a result that knows its columns) takes longer than most of
these statements. SQLAlchemy still generates the text, so there is one source for both databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect

from fanfold.store.schema.plain_rows import PLAINLY, PlainResult, allow_plain_rows

Values = Mapping[str, Any]
NOTHING: Values = {}


def run(connection: sa.Connection, statement: sa.Executable, values: Values) -> list[tuple[Any, ...]]:
    """Run a statement that was built once; returns the driver's rows: plain tuples of plain values."""
    return _result(connection, statement, values).rows


def fetch(connection: sa.Connection, statement: sa.Executable, values: Values = NOTHING) -> list[tuple[Any, ...]]:
    """The same with values of the columns' own types, such as aware times and booleans, on every database."""
    return _prepare(statement, connection.dialect).typed(run(connection, statement, values))


def fetch_first(
    connection: sa.Connection, statement: sa.Executable, values: Values = NOTHING
) -> tuple[Any, ...] | None:
    """The first row with values of the columns' own types, or None."""
    rows = run(connection, statement, values)
    return _prepare(statement, connection.dialect).typed(rows[:1])[0] if rows else None


def fetch_value(connection: sa.Connection, statement: sa.Executable, values: Values = NOTHING) -> Any:
    """The first value of the first row, in its column's own type, or None."""
    row = fetch_first(connection, statement, values)
    return None if row is None else row[0]


def changed_by(connection: sa.Connection, statement: sa.Executable, values: Values = NOTHING) -> int:
    """Run a statement that was built once; returns how many rows it changed or removed."""
    return _result(connection, statement, values).changed


def _result(connection: sa.Connection, statement: sa.Executable, values: Values) -> PlainResult:
    allow_plain_rows(connection.dialect)
    prepared = _prepare(statement, connection.dialect)
    result: Any = connection.exec_driver_sql(prepared.text, prepared.parameters(values), PLAINLY)
    return cast("PlainResult", result)


def run_many(connection: sa.Connection, statement: sa.Executable, rows: Iterable[Values]) -> None:
    """Run it once for each row, with the driver's `executemany`."""
    prepared = _prepare(statement, connection.dialect)
    connection.exec_driver_sql(prepared.text, prepared.many(rows))


@dataclass(frozen=True)
class PreparedStatement:
    """A statement as text, with converters for its parameters."""

    text: str
    given: tuple[tuple[str, Callable[[Any], Any] | None], ...]
    """Parameters given at each call, with the converter to the driver's type."""
    known: Values
    """Constant parameters."""
    asked: tuple[tuple[str, Callable[[], Any]], ...]
    """Parameters computed at each call, such as the time."""
    order: tuple[str, ...] | None
    """Order of the parameters, where the driver takes them by position."""
    read: tuple[tuple[int, Callable[[Any], Any]], ...]
    """Columns whose values the driver returns in another type, with the converter to the column's own."""

    def parameters(self, values: Values) -> Any:
        """The parameters in the form the driver takes."""
        found = dict(self.known)
        for name, ask in self.asked:
            found[name] = ask()
        for name, convert in self.given:
            value = values[name]
            found[name] = value if convert is None else convert(value)
        return found if self.order is None else tuple([found[name] for name in self.order])

    def typed(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Rows of the driver, with the values of their columns' own types."""
        return [self._typed(row) for row in rows] if self.read else rows

    def _typed(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        values = list(row)
        for place, convert in self.read:
            values[place] = convert(values[place])
        return tuple(values)

    def many(self, rows: Iterable[Values]) -> list[Any]:
        """The parameters of many executions. Values that are passed on as they are take no Python call per row."""
        if self.order is None or len(self.order) < 2 or self.known or self.asked or any(c for _, c in self.given):
            return [self.parameters(row) for row in rows]
        return list(map(itemgetter(*self.order), rows))


@lru_cache(maxsize=1_000)
def _prepare(statement: sa.Executable, dialect: Dialect) -> PreparedStatement:
    assert isinstance(statement, sa.ClauseElement)
    compiled: Any = statement.compile(dialect=dialect)
    given: list[tuple[str, Callable[[Any], Any] | None]] = []
    known: dict[str, Any] = {}
    asked: list[tuple[str, Callable[[], Any]]] = []
    for bind, name in compiled.bind_names.items():
        convert = bind.type.dialect_impl(dialect).bind_processor(dialect)
        if bind.callable is not None:
            asked.append((name, _asking(bind.callable, convert)))
        elif bind.required:
            given.append((name, convert))
        else:
            known[name] = bind.value if convert is None else convert(bind.value)
    order = tuple(compiled.positiontup) if compiled.positional else None
    return PreparedStatement(str(compiled), tuple(given), known, tuple(asked), order, _converters(statement, dialect))


def _converters(statement: Any, dialect: Dialect) -> tuple[tuple[int, Callable[[Any], Any]], ...]:
    """The places of the returned columns whose values need a converter, with the converter."""
    columns = statement.exported_columns if isinstance(statement, sa.ReturnsRows) else ()
    converters = (
        (place, _converter(column.type.dialect_impl(dialect), dialect)) for place, column in enumerate(columns)
    )
    return tuple((place, convert) for place, convert in converters if convert is not None)


def _converter(kind: sa.types.TypeEngine[Any], dialect: Dialect) -> Callable[[Any], Any] | None:
    """PostgreSQL calculates with fractions as `numeric`, so a column that is a float may come as a Decimal."""
    return _as_float if isinstance(kind, sa.Float) else kind.result_processor(dialect, None)


def _as_float(value: Any) -> float | None:
    return None if value is None else float(value)


def _asking(ask: Callable[[], Any], convert: Callable[[Any], Any] | None) -> Callable[[], Any]:
    return ask if convert is None else lambda: convert(ask())
