"""Degraded results that a person keeps as they are."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add a column that may be empty; older workers go on beside it."""
    op.add_column("items", sa.Column("accepted", sa.Integer()))
