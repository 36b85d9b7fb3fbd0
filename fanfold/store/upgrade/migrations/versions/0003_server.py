"""Tokens of the server, who made an item's output, and the output before that one."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.clock import UtcTime

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add a table and three columns; nothing that is there changes."""
    op.create_table(
        "tokens",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=True),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("expires_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_tokens_hash")),
    )
    op.add_column("item_data", sa.Column("made_by", sa.String(length=100), nullable=True))
    op.add_column("item_data", sa.Column("previous", sa.Text(), nullable=True))
    op.add_column("item_data", sa.Column("previous_model", sa.String(length=200), nullable=True))
