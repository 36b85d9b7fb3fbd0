"""The tables of credits: an account per owner, and the ledger, to which entries are only added."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Integer, String, Table, Text, UniqueConstraint

from fanfold.store.dialects.schema import COUNTED_UP, Number
from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.schema.metadata import metadata

credit_accounts = Table(
    "credit_accounts",
    metadata,
    Column("owner", String(200), primary_key=True),
    Column("balance", BigInteger, nullable=False),
    Column("outside", Boolean, nullable=False),
    Column("opened_at", UtcTime, nullable=False),
    CheckConstraint("balance >= 0 OR outside", name="never_below_zero"),
)
"""`outside`: another ledger decides what the owner may spend."""

credit_entries = Table(
    "credit_entries",
    metadata,
    Column("id", Number, sa.Identity(), primary_key=True),
    Column("owner", String(200), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("task", String(32), nullable=False),
    Column("item", String(200), nullable=False),
    Column("generation", Integer, nullable=False),
    Column("actor", String(100), nullable=False),
    Column("reason", Text),
    Column("reason_sentence", Text),
    Column("key", String(200)),
    Column("at", UtcTime, nullable=False),
    UniqueConstraint("task", "item", "kind", "generation"),
    **COUNTED_UP,
)
"""`task` is the id of a task, or empty for an entry made by hand; then `item` is made from the owner and the key."""
