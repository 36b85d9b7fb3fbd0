"""The tables for rate limits, which all workers share."""

from __future__ import annotations

from sqlalchemy import Column, Float, Integer, String, Table

from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.schema.tables import metadata

__all__ = ["metadata", "rate_limit_holders", "rate_limits"]
rate_limits = Table(
    "rate_limits",
    metadata,
    Column("key", String(300), primary_key=True),
    Column("dimension", String(16), primary_key=True),
    Column("configured", Float),
    Column("learned", Float),
    Column("level", Float, nullable=False),
    Column("rate", Float, nullable=False),
    Column("burst", Float, nullable=False),
    Column("granted", Float, nullable=False),
    Column("clean", Integer, nullable=False),
    Column("refusals", Integer, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("closed_until", UtcTime),
    Column("closed_by", String(16)),
)
"""One row for each dimension of the limit of an account and model. `level` is what is left of it at `updated_at`.

`granted` is what the last lease was given: the statement that takes it returns it. On the row `in_flight`, `level` is the
number of calls that may be in flight if none is configured, and `clean` counts answers since it last grew.
"""

rate_limit_holders = Table(
    "rate_limit_holders",
    metadata,
    Column("key", String(300), primary_key=True),
    Column("holder", String(100), primary_key=True),
    Column("held", Integer, nullable=False),
    Column("waiting", Integer, nullable=False),
    Column("until", UtcTime, nullable=False),
)
"""The processes that use a limit: how many calls each may have in flight, and how many wait. Expires at `until`."""
