"""A table and a column more."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.upgrade.revisions import REVISIONS

revision = "9000"
down_revision = REVISIONS[-2]


def upgrade() -> None:
    """Add; nothing that is there changes."""
    op.create_table("novelties", sa.Column("id", sa.Integer(), primary_key=True))
    op.add_column("items", sa.Column("novelty", sa.Text(), nullable=True))
