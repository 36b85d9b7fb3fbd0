"""Subtasks, and gates that ask for an answer."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0110"
down_revision = "0101"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
CHILD = sa.text("parent IS NOT NULL")


def upgrade() -> None:
    """Add tables, and columns that may be empty; workers of earlier versions continue to work.

    An earlier worker that ends a subtask does not wake its parent, which then looks again by itself after some minutes.
    """
    op.create_table(
        "subtasks",
        sa.Column("item", NUMBER, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("key", sa.String(length=1000), nullable=False),
        sa.Column("child", NUMBER, nullable=False),
        sa.Column("child_id", sa.String(length=32), nullable=False),
        sa.Column("awaited", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("told", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("item", "name", name=op.f("pk_subtasks")),
    )
    op.create_index("subtasks_task", "subtasks", ["task"])
    op.create_index("subtasks_child", "subtasks", ["child"])
    op.create_table(
        "gate_answers",
        sa.Column("task", NUMBER, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("stage", sa.String(length=63), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("task", "number", name=op.f("pk_gate_answers")),
    )
    op.add_column("tasks", sa.Column("parent", NUMBER))
    op.add_column("tasks", sa.Column("parent_item", NUMBER))
    op.add_column("tasks", sa.Column("by_parent", sa.Boolean()))
    op.create_index("tasks_parent", "tasks", ["parent", "number"], sqlite_where=CHILD, postgresql_where=CHILD)
    unfinished = sa.text("parent IS NOT NULL AND state IN ('active', 'waiting', 'paused')")
    op.create_index("tasks_open_children", "tasks", ["parent"], sqlite_where=unfinished, postgresql_where=unfinished)
