"""Webhooks, and tasks that have their own."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0092"
down_revision = "0091"


def upgrade() -> None:
    """Add a table and a column that may be empty; workers of earlier versions continue to work."""
    op.create_table(
        "webhooks",
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("events", sa.Text(), nullable=False),
        sa.Column("pipeline", sa.String(length=63)),
        sa.Column("owner", sa.String(length=200)),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("disabled_at", UtcTime()),
        sa.Column("disabled_because", sa.Text()),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_webhooks")),
    )
    op.add_column("tasks", sa.Column("notify", sa.Text()))
