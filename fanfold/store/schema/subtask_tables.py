"""The tables of subtasks, and of the answers that people give at gates."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Boolean, Column, Integer, String, Table, Text

from fanfold.store.dialects.schema import Number
from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.schema.metadata import metadata

subtasks = Table(
    "subtasks",
    metadata,
    Column("item", Number, primary_key=True, autoincrement=False),
    Column("name", String(63), primary_key=True),
    Column("task", Number, nullable=False),
    Column("key", String(1000), nullable=False),
    Column("child", Number, nullable=False),
    Column("child_id", String(32), nullable=False),
    Column("awaited", Boolean, nullable=False, server_default=sa.false()),
    Column("told", Boolean, nullable=False, server_default=sa.false()),
    Column("at", UtcTime, nullable=False),
)
"""The subtask that an item has under a name. `key` is the item's idempotency key with that name: after a redo it is another one.

`awaited` while the item waits for it; `told` when its failure has made the item fail.
"""

gate_answers = Table(
    "gate_answers",
    metadata,
    Column("task", Number, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("stage", String(63), nullable=False),
    Column("answer", Text, nullable=False),
    Column("actor", String(100), nullable=False),
    Column("at", UtcTime, nullable=False),
)
"""What people answered at gates, append-only. Of those at one gate, the one with the highest number counts."""
