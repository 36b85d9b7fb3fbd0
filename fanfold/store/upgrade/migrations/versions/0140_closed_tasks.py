"""Tasks that are closed, and batches whose results are all read."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0140"
down_revision = "0110"


def upgrade() -> None:
    """Add columns that may be empty; workers of earlier versions continue to work."""
    op.add_column("tasks", sa.Column("closed_at", UtcTime()))
    op.add_column("batches", sa.Column("read_at", UtcTime()))
