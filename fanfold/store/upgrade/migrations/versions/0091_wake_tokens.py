"""Tokens with which a service wakes the item that waits for its job."""

import sqlalchemy as sa
from alembic import op

revision = "0091"
down_revision = "0090"


def upgrade() -> None:
    """Add a column that may be empty; workers of earlier versions continue to work."""
    op.add_column("externals", sa.Column("wake", sa.String(length=64)))
    op.create_index(
        "externals_wake",
        "externals",
        ["wake"],
        sqlite_where=sa.text("wake IS NOT NULL"),
        postgresql_where=sa.text("wake IS NOT NULL"),
    )
