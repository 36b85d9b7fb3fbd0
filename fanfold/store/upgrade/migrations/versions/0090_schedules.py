"""Schedules with their runs, and tasks that start at a later time."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.schema import COUNTED_UP
from fanfold.store.dialects.sql_clock import UtcTime

revision = "0090"
down_revision = "0080"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add two tables and a column that may be empty; workers of earlier versions continue to work."""
    op.create_table(
        "schedules",
        sa.Column("number", NUMBER, sa.Identity(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("cron", sa.String(length=200), nullable=False),
        sa.Column("zone", sa.String(length=100), nullable=False),
        sa.Column("pipeline", sa.String(length=63), nullable=False),
        sa.Column("wanted", sa.Text(), nullable=False),
        sa.Column("overlap", sa.String(length=16), nullable=False),
        sa.Column("catch_up", sa.String(length=16), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("next_at", UtcTime()),
        sa.Column("queued_at", UtcTime()),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_schedules")),
        sa.UniqueConstraint("name", name=op.f("uq_schedules_name")),
        **COUNTED_UP,
    )
    op.create_table(
        "schedule_runs",
        sa.Column("schedule", NUMBER, autoincrement=False, nullable=False),
        sa.Column("due_at", UtcTime(), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("task_id", sa.String(length=32)),
        sa.Column("reason", sa.Text()),
        sa.Column("reason_sentence", sa.Text()),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("schedule", "due_at", name=op.f("pk_schedule_runs")),
    )
    op.add_column("tasks", sa.Column("start_at", UtcTime()))
    op.create_index(
        "tasks_start",
        "tasks",
        ["start_at"],
        sqlite_where=sa.text("start_at IS NOT NULL"),
        postgresql_where=sa.text("start_at IS NOT NULL"),
    )
