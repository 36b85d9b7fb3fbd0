"""How is a statement run often? It is made into text once; after that only its values are handed to the driver.

What SQLAlchemy does for each execution (a key for its cache, parameters, a result that knows its columns) costs more than most
of these statements take. The text is still SQLAlchemy's, so there is one source for both databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect

Values = Mapping[str, Any]


def run(connection: sa.Connection, statement: sa.Executable, values: Values) -> list[tuple[Any, ...]]:
    """Run a statement that was built once, and give its rows as the driver does: plain tuples, plain values."""
    prepared = _prepare(statement, connection.dialect)
    result = connection.exec_driver_sql(prepared.text, prepared.parameters(values))
    if not result.returns_rows:
        return []
    rows = list(result.cursor.fetchall())
    result.close()
    return rows


def changed_by(connection: sa.Connection, statement: sa.Executable, values: Values) -> int:
    """Run a statement that was built once, and tell how many rows it has changed or removed."""
    prepared = _prepare(statement, connection.dialect)
    return connection.exec_driver_sql(prepared.text, prepared.parameters(values)).rowcount


def run_many(connection: sa.Connection, statement: sa.Executable, rows: Iterable[Values]) -> None:
    """Run it once for each row, with the driver's own `executemany`."""
    prepared = _prepare(statement, connection.dialect)
    connection.exec_driver_sql(prepared.text, [prepared.parameters(row) for row in rows])


@dataclass(frozen=True)
class Prepared:
    """A statement as text, with what makes its parameters."""

    text: str
    given: tuple[tuple[str, Callable[[Any], Any] | None], ...]
    """Parameters whose values are said each time, with what turns them into the driver's."""
    known: Values
    """Those that are always the same."""
    asked: tuple[tuple[str, Callable[[], Any]], ...]
    """Those that are asked for each time, such as the time."""
    order: tuple[str, ...] | None
    """Their places, where the driver knows them by place and not by name."""

    def parameters(self, values: Values) -> Any:
        """The parameters, as the driver wants them."""
        found = dict(self.known)
        for name, ask in self.asked:
            found[name] = ask()
        for name, convert in self.given:
            value = values[name]
            found[name] = value if convert is None else convert(value)
        return found if self.order is None else tuple([found[name] for name in self.order])


@lru_cache(maxsize=1_000)
def _prepare(statement: sa.Executable, dialect: Dialect) -> Prepared:
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
    return Prepared(str(compiled), tuple(given), known, tuple(asked), order)


def _asking(ask: Callable[[], Any], convert: Callable[[Any], Any] | None) -> Callable[[], Any]:
    return ask if convert is None else lambda: convert(ask())
