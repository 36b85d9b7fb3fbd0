"""Batches at services, and the questions in them."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0040"
down_revision = "0030"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add two tables; workers of earlier versions can continue."""
    _add_batches()
    _add_members()


def _add_batches() -> None:
    op.create_table(
        "batches",
        sa.Column("id", NUMBER, sa.Identity(), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("provider", sa.String(length=63), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("job", sa.String(length=200)),
        sa.Column("questions", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("answered", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("failed", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("looks", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("intended_at", UtcTime()),
        sa.Column("look_at", UtcTime(), nullable=False),
        sa.Column("ended_at", UtcTime()),
        sa.Column("wanted_by", UtcTime()),
        sa.Column("cancel_at", UtcTime()),
        sa.Column("worker", sa.String(length=100)),
        sa.Column("held_until", UtcTime()),
        sa.Column("code", sa.String(length=100)),
        sa.Column("reason", sa.Text()),
        sa.Column("reason_sentence", sa.Text()),
        sa.CheckConstraint(
            "state IN ('sending', 'running', 'fetching', 'done', 'failed')", name=op.f("ck_batches_state_known")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batches")),
        sa.UniqueConstraint("name", name=op.f("uq_batches_name")),
        sqlite_autoincrement=True,
    )
    is_open = sa.text("state IN ('sending', 'running', 'fetching')")
    op.create_index("batches_open", "batches", ["look_at"], postgresql_where=is_open, sqlite_where=is_open)


def _add_members() -> None:
    op.create_table(
        "batch_members",
        sa.Column("id", NUMBER, sa.Identity(), nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("item", NUMBER, nullable=False),
        sa.Column("lease", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("provider", sa.String(length=63), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("batch", NUMBER),
        sa.Column("request", sa.Text()),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("wanted_by", UtcTime()),
        sa.Column("reserved", sa.BigInteger()),
        sa.Column("scopes", sa.Text()),
        sa.Column("code", sa.String(length=100)),
        sa.Column("reason", sa.Text()),
        sa.Column("reason_sentence", sa.Text()),
        sa.CheckConstraint(
            "state IN ('collected', 'sent', 'answered', 'failed', 'live')", name=op.f("ck_batch_members_state_known")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batch_members")),
        sqlite_autoincrement=True,
    )
    op.create_index("batch_members_item", "batch_members", ["item", "key"], unique=True)
    op.create_index("batch_members_key", "batch_members", ["key"])
    sent = sa.text("state = 'sent'")
    op.create_index(
        "batch_members_sent", "batch_members", ["key"], unique=True, postgresql_where=sent, sqlite_where=sent
    )
    op.create_index("batch_members_batch", "batch_members", ["batch"])
    op.create_index("batch_members_task", "batch_members", ["task"])
    collected = sa.text("state = 'collected'")
    op.create_index(
        "batch_members_collected",
        "batch_members",
        ["provider", "model"],
        postgresql_where=collected,
        sqlite_where=collected,
    )
