"""How long external jobs usually take, so that the first poll comes when it is worth it."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0150"
down_revision = "0140"


def upgrade() -> None:
    """Add a table; workers of earlier versions continue to work."""
    op.create_table(
        "external_durations",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_external_durations")),
    )
