"""Generations, degraded results, external jobs, and items that are written or removed in short transactions."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.clock import UtcTime

revision = "0006"
down_revision = "0005"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add tables, indexes and columns that may be empty; older workers go on beside them."""
    op.add_column("tasks", sa.Column("generation", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("tasks", sa.Column("fingerprint", sa.String(length=64)))
    op.add_column("tasks", sa.Column("lineage", sa.Text()))
    op.add_column("tasks", sa.Column("resetting", sa.String(length=32)))
    active = sa.text("state = 'active'")
    op.create_index(
        "tasks_serving",
        "tasks",
        ["pipeline", "stage", sa.text("priority DESC"), "number", "owner"],
        postgresql_where=active,
        sqlite_where=active,
    )
    op.add_column("items", sa.Column("degraded", sa.Text()))
    op.add_column("items", sa.Column("settled_by", sa.String(length=100)))
    degraded = sa.text("degraded IS NOT NULL")
    op.create_index("items_degraded", "items", ["task", "stage"], postgresql_where=degraded, sqlite_where=degraded)
    for name, kind in (
        ("generation", sa.Integer()),
        ("hold", sa.Text()),
        ("handed_back", sa.Integer()),
        ("troubled_since", UtcTime()),
        ("troubled_by", sa.String(length=63)),
        ("crash_progress", sa.Float()),
        ("crash_memory", sa.Integer()),
        ("forgiven_crashes", sa.Integer()),
    ):
        op.add_column("item_data", sa.Column(name, kind))
    op.add_column("workers", sa.Column("swept_at", UtcTime()))
    op.create_table(
        "drafts",
        sa.Column("task", NUMBER, autoincrement=False, nullable=False),
        sa.Column("stage", sa.String(length=63), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("token", sa.String(length=100), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("task", "stage", name=op.f("pk_drafts")),
    )
    op.create_table(
        "resets",
        sa.Column("task", NUMBER, autoincrement=False, nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("options", sa.Text()),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("task", name=op.f("pk_resets")),
    )
    op.create_table(
        "reset_items",
        sa.Column("item", NUMBER, autoincrement=False, nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("lease", sa.Integer()),
        sa.PrimaryKeyConstraint("item", name=op.f("pk_reset_items")),
    )
    op.create_index("reset_items_task", "reset_items", ["task", "item"])
    op.create_table(
        "deleted_tasks",
        sa.Column("task", NUMBER, autoincrement=False, nullable=False),
        sa.Column("deleted_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("task", name=op.f("pk_deleted_tasks")),
    )
    op.create_table(
        "externals",
        sa.Column("item", NUMBER, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("lease", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=400), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("job", sa.Text()),
        sa.Column("worker", sa.String(length=100)),
        sa.Column("intended_at", UtcTime(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("item", "name", name=op.f("pk_externals")),
    )
    op.create_index("externals_task", "externals", ["task"])
