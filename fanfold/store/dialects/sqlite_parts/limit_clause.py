"""Writes LIMIT for SQLite so that a statement is compiled once and not at every execution.

Since version 3.47, SQLite plans a statement with the value that is bound to its LIMIT, so it compiles the statement again each
time a value is bound. For a search for work that takes 1.3 ms instead of 0.02 ms. SQLite does not look into an expression.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler


class LimitsAsExpressions(SQLiteCompiler):
    """SQLAlchemy's compiler for SQLite, with ``LIMIT ? + 0`` instead of ``LIMIT ? OFFSET ?``."""

    def limit_clause(self, select: Any, **options: Any) -> str:
        """LIMIT, and OFFSET if there is one."""
        limit, offset = select._limit_clause, select._offset_clause
        text = "\n LIMIT " + ("-1" if limit is None else f"{self.process(limit, **options)} + 0")
        return text if offset is None else f"{text} OFFSET {self.process(offset, **options)}"


def compile_limits_once(dialect: sa.Dialect) -> None:
    """Make a dialect write LIMIT this way."""
    dialect.statement_compiler = LimitsAsExpressions
