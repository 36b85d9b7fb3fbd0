"""The table of what calls of each stage have taken, from which ticks learn what fits into their time."""

from __future__ import annotations

from sqlalchemy import Column, String, Table, Text

from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.schema.metadata import metadata

stage_durations = Table(
    "stage_durations",
    metadata,
    Column("pipeline", String(63), primary_key=True),
    Column("stage", String(63), primary_key=True),
    Column("recent", Text, nullable=False),
    Column("at", UtcTime, nullable=False),
)
"""`recent`: seconds of the last calls, oldest first, as a JSON list."""
