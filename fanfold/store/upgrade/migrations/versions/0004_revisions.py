"""Which older versions may go on beside each revision, and the revision that a worker's code knows."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.clock import UtcTime

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add a table and a column; nothing that is there changes."""
    op.create_table(
        "revisions",
        sa.Column("revision", sa.String(length=32), nullable=False),
        sa.Column("compatible_from", sa.String(length=32), nullable=False),
        sa.Column("upgraded_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_revisions")),
    )
    op.add_column("workers", sa.Column("revision", sa.String(length=32), nullable=True))
