"""The table of webhooks. Their secrets are never in the database."""

from __future__ import annotations

from sqlalchemy import Column, String, Table, Text

from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.schema.metadata import metadata

webhooks = Table(
    "webhooks",
    metadata,
    Column("name", String(63), primary_key=True),
    Column("url", Text, nullable=False),
    Column("events", Text, nullable=False),
    Column("pipeline", String(63)),
    Column("owner", String(200)),
    Column("actor", String(100), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("disabled_at", UtcTime),
    Column("disabled_because", Text),
)
