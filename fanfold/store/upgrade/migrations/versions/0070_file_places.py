"""The buckets that hold files, so that every process finds a file in any of them."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0070"
down_revision = "0055"


def upgrade() -> None:
    """Add a table; workers of earlier versions can continue, with files in their data folder."""
    op.create_table(
        "file_places",
        sa.Column("address", sa.String(length=500), nullable=False),
        sa.Column("swept_to", sa.String(length=300), nullable=False),
        sa.Column("added_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("address", name=op.f("pk_file_places")),
    )
