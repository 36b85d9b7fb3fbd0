"""How long calls of each stage take, from which ticks learn what fits into their time."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0101"
down_revision = "0100"


def upgrade() -> None:
    """Add a table; workers of earlier versions continue to work."""
    op.create_table(
        "stage_durations",
        sa.Column("pipeline", sa.String(length=63), nullable=False),
        sa.Column("stage", sa.String(length=63), nullable=False),
        sa.Column("recent", sa.Text(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("pipeline", "stage", name=op.f("pk_stage_durations")),
    )
