"""Budgets, what calls of each pipeline and model have used, and why a call was made."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0020"
down_revision = "0010"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add two tables and a nullable column; workers of 0.2 can continue, without budgets."""
    op.add_column("calls", sa.Column("purpose", sa.String(length=16)))
    op.create_table(
        "budgets",
        sa.Column("scope", sa.String(length=300), nullable=False),
        sa.Column("task", NUMBER),
        sa.Column("cap", sa.BigInteger(), nullable=False),
        sa.Column("spent", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("reserved", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("unknown", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("unpriced", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("strict", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("allow_unknown", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("open_until", UtcTime()),
        sa.Column("set_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name=op.f("pk_budgets")),
        postgresql_with={"fillfactor": "70"},
    )
    op.create_table(
        "usage_history",
        sa.Column("pipeline", sa.String(length=63), nullable=False),
        sa.Column("provider", sa.String(length=63), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("bucket", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("cost", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("guessed_tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("pipeline", "provider", "model", "bucket", name=op.f("pk_usage_history")),
    )
