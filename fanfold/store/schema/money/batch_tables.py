"""The tables of the batch lane: batches at services, and the questions in them."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import CheckConstraint, Column, Integer, String, Table, Text

from fanfold.model.money.batch import OPEN_BATCHES, BatchState, MemberState
from fanfold.store.dialects.schema import COUNTED_UP, Number
from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.schema.constraints import listed
from fanfold.store.schema.metadata import metadata

batches = Table(
    "batches",
    metadata,
    Column("id", Number, sa.Identity(), primary_key=True),
    Column("name", String(32), nullable=False, unique=True),
    Column("provider", String(63), nullable=False),
    Column("model", String(200), nullable=False),
    Column("state", String(16), nullable=False),
    Column("job", String(200)),
    Column("questions", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("answered", Integer, nullable=False, server_default="0"),
    Column("failed", Integer, nullable=False, server_default="0"),
    Column("looks", Integer, nullable=False, server_default="0"),
    Column("created_at", UtcTime, nullable=False),
    Column("intended_at", UtcTime),
    Column("look_at", UtcTime, nullable=False),
    Column("ended_at", UtcTime),
    Column("wanted_by", UtcTime),
    Column("cancel_at", UtcTime),
    Column("worker", String(100)),
    Column("held_until", UtcTime),
    Column("code", String(100)),
    Column("reason", Text),
    Column("reason_sentence", Text),
    Column("read_at", UtcTime),
    CheckConstraint(f"state IN ({listed(BatchState)})", name="state_known"),
    **COUNTED_UP,
)

batch_members = Table(
    "batch_members",
    metadata,
    Column("id", Number, sa.Identity(), primary_key=True),
    Column("task", Number, nullable=False),
    Column("item", Number, nullable=False),
    Column("lease", Integer, nullable=False),
    Column("key", String(64), nullable=False),
    Column("provider", String(63), nullable=False),
    Column("model", String(200), nullable=False),
    Column("state", String(16), nullable=False),
    Column("batch", Number),
    Column("request", Text),
    Column("bytes", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("at", UtcTime, nullable=False),
    Column("wanted_by", UtcTime),
    Column("reserved", sa.BigInteger),
    Column("scopes", Text),
    Column("code", String(100)),
    Column("reason", Text),
    Column("reason_sentence", Text),
    Column("purpose", String(16)),
    CheckConstraint(f"state IN ({listed(MemberState)})", name="state_known"),
    **COUNTED_UP,
)

OPEN_BATCH = batches.c.state.in_([sa.literal_column(f"'{state}'") for state in OPEN_BATCHES])
"""Batches that are not over."""
COLLECTED = batch_members.c.state == sa.literal_column(f"'{MemberState.COLLECTED}'")
"""Questions that wait for a batch."""
SENT = batch_members.c.state == sa.literal_column(f"'{MemberState.SENT}'")
"""Questions that a service has or is being sent. A unique index ensures that no question is in two batches at once."""
