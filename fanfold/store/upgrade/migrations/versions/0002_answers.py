"""The cache of answers, and the ledger of calls to models."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.clock import UtcTime

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add two tables; nothing that is there changes."""
    op.create_table(
        "answers",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("asked_by", sa.String(length=100), nullable=True),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("asked_until", UtcTime(), nullable=True),
        sa.Column("answered_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_answers")),
    )
    op.create_index("answers_age", "answers", ["answered_at"], unique=False)
    op.create_table(
        "calls",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), sa.Identity(always=False), nullable=False
        ),
        sa.Column("task", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("item", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("lease", sa.Integer(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("provider", sa.String(length=63), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("outcome", sa.String(length=100), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("cached_tokens", sa.Integer(), nullable=True),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("answer", sa.String(length=64), nullable=True),
        sa.Column("raw", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calls")),
        sqlite_autoincrement=True,
    )
    op.create_index("calls_answer", "calls", ["answer"], unique=False)
    op.create_index("calls_item", "calls", ["item"], unique=False)
    op.create_index("calls_task", "calls", ["task"], unique=False)
