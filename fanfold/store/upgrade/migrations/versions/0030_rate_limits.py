"""Rate limits that all workers share."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0030"
down_revision = "0020"


def upgrade() -> None:
    """Add the tables of rate limits; workers of older versions can continue, and ignore them."""
    op.create_table(
        "rate_limits",
        sa.Column("key", sa.String(length=300), nullable=False),
        sa.Column("dimension", sa.String(length=16), nullable=False),
        sa.Column("configured", sa.Float()),
        sa.Column("learned", sa.Float()),
        sa.Column("level", sa.Float(), nullable=False),
        sa.Column("rate", sa.Float(), nullable=False),
        sa.Column("burst", sa.Float(), nullable=False),
        sa.Column("granted", sa.Float(), nullable=False),
        sa.Column("clean", sa.Integer(), nullable=False),
        sa.Column("refusals", sa.Integer(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.Column("closed_until", UtcTime()),
        sa.Column("closed_by", sa.String(length=16)),
        sa.PrimaryKeyConstraint("key", "dimension", name=op.f("pk_rate_limits")),
    )
    op.create_table(
        "rate_limit_holders",
        sa.Column("key", sa.String(length=300), nullable=False),
        sa.Column("holder", sa.String(length=100), nullable=False),
        sa.Column("held", sa.Integer(), nullable=False),
        sa.Column("waiting", sa.Integer(), nullable=False),
        sa.Column("until", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("key", "holder", name=op.f("pk_rate_limit_holders")),
    )
