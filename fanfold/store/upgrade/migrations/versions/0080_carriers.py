"""Hints of carriers, and handlers that cannot be stopped."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0080"
down_revision = "0070"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add two tables; workers of earlier versions can continue."""
    op.create_table(
        "hints",
        sa.Column("id", sa.String(length=100), nullable=False),
        sa.Column("carrier", sa.String(length=20), nullable=False),
        sa.Column("pipeline", sa.String(length=63), nullable=False),
        sa.Column("stage", sa.String(length=63), nullable=False),
        sa.Column("sent_at", UtcTime(), nullable=False),
        sa.Column("begun_at", UtcTime()),
        sa.Column("worker", sa.String(length=100)),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hints")),
    )
    op.create_table(
        "unstopped",
        sa.Column("worker", sa.String(length=100), nullable=False),
        sa.Column("item", NUMBER, autoincrement=False, nullable=False),
        sa.Column("lease", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("stage", sa.String(length=63), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("since_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("worker", "item", "lease", name=op.f("pk_unstopped")),
    )
