"""The tables for budgets, and for what calls of each pipeline and model have used. Part of the declared schema."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, Column, Integer, String, Table

from fanfold.store.dialects.schema import Number
from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.schema.tables import metadata

budgets = Table(
    "budgets",
    metadata,
    Column("scope", String(300), primary_key=True),
    Column("task", Number),
    Column("cap", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False, server_default="0"),
    Column("reserved", BigInteger, nullable=False, server_default="0"),
    Column("unknown", BigInteger, nullable=False, server_default="0"),
    Column("unpriced", Integer, nullable=False, server_default="0"),
    Column("strict", Boolean, nullable=False, server_default=sa.false()),
    Column("allow_unknown", Boolean, nullable=False, server_default=sa.false()),
    Column("open_until", UtcTime),
    Column("set_at", UtcTime, nullable=False),
)
"""Amounts are billionths of a dollar. ``open_until`` is when the last call with a reservation must have ended."""

usage_history = Table(
    "usage_history",
    metadata,
    Column("pipeline", String(63), primary_key=True),
    Column("provider", String(63), primary_key=True),
    Column("model", String(200), primary_key=True),
    Column("bucket", Integer, primary_key=True, autoincrement=False),
    Column("calls", BigInteger, nullable=False),
    Column("cost", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("guessed_tokens", BigInteger, nullable=False),
)
"""Calls by cost, so that quantiles need no scan of the ledger: bucket n has calls of at most 1.02 ** n billionths."""
