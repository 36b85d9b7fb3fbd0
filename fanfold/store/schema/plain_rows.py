"""Lets SQLAlchemy return the driver's rows as they are.

SQLAlchemy describes the columns of each result of a statement given as text, which takes almost half of the time of a short
statement. Everything else stays as it is: events, errors, transactions.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.engine.interfaces import Dialect

OPTION = "fanfold_plain_rows"
PLAINLY: Mapping[str, Any] = MappingProxyType({OPTION: True})
"""Execution options of a statement whose result is a ``PlainResult``."""


class PlainResult(NamedTuple):
    """What the driver has returned."""

    rows: list[tuple[Any, ...]]
    """Empty if the statement returns none."""
    changed: int
    """How many rows it has changed or removed."""


class PlainRows(DefaultExecutionContext):
    """An execution that may end with a plain result."""

    def _setup_result_proxy(self) -> Any:
        if OPTION not in self.execution_options:
            return super()._setup_result_proxy()  # type: ignore[no-untyped-call]
        cursor: Any = self.cursor
        result = PlainResult([] if cursor.description is None else list(cursor.fetchall()), cursor.rowcount)
        cursor.close()
        return result


def allow_plain_rows(dialect: Dialect) -> None:
    """Make a dialect obey the option."""
    usual = dialect.execution_ctx_cls
    if not issubclass(usual, PlainRows):
        dialect.execution_ctx_cls = type("PlainRows", (PlainRows, usual), {})
