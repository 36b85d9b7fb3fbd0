"""The tables of schedules: what is submitted when, and what became of each due time."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Boolean, Column, String, Table, Text

from fanfold.store.dialects.schema import COUNTED_UP, Number
from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.schema.metadata import metadata

schedules = Table(
    "schedules",
    metadata,
    Column("number", Number, sa.Identity(), primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("owner", String(200), nullable=False),
    Column("cron", String(200), nullable=False),
    Column("zone", String(100), nullable=False),
    Column("pipeline", String(63), nullable=False),
    Column("wanted", Text, nullable=False),
    Column("overlap", String(16), nullable=False),
    Column("catch_up", String(16), nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("next_at", UtcTime),
    Column("queued_at", UtcTime),
    Column("actor", String(100), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    **COUNTED_UP,
)
"""`next_at` is the next due time that nobody has dealt with; `queued_at` one that waits for the run before it to end."""

schedule_runs = Table(
    "schedule_runs",
    metadata,
    Column("schedule", Number, primary_key=True, autoincrement=False),
    Column("due_at", UtcTime, primary_key=True),
    Column("outcome", String(16), nullable=False),
    Column("task_id", String(32)),
    Column("reason", Text),
    Column("reason_sentence", Text),
    Column("actor", String(100), nullable=False),
    Column("at", UtcTime, nullable=False),
)
"""One row per due time: it is dealt with exactly once. It outlives its task."""
