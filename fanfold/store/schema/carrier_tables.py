"""The tables of hints that carriers deliver, and of handlers that run on although nobody wants their result."""

from __future__ import annotations

from sqlalchemy import Column, Integer, String, Table, Text

from fanfold.store.dialects.schema import Number
from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.schema.metadata import metadata

hints = Table(
    "hints",
    metadata,
    Column("id", String(100), primary_key=True),
    Column("carrier", String(20), nullable=False),
    Column("pipeline", String(63), nullable=False),
    Column("stage", String(63), nullable=False),
    Column("sent_at", UtcTime, nullable=False),
    Column("begun_at", UtcTime),
    Column("worker", String(100)),
)
"""Hints on their way, and those whose worker is at work. Only for counting: an item never depends on one."""

unstopped = Table(
    "unstopped",
    metadata,
    Column("worker", String(100), primary_key=True),
    Column("item", Number, primary_key=True, autoincrement=False),
    Column("lease", Integer, primary_key=True, autoincrement=False),
    Column("task", Number, nullable=False),
    Column("stage", String(63), nullable=False),
    Column("key", Text, nullable=False),
    Column("since_at", UtcTime, nullable=False),
)
"""Handlers that were told to stop and did not, in a thread or an event loop, where nobody can end them."""
