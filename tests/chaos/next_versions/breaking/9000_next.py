"""Something that older code would do wrong, though its statements still work."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.upgrade.revisions import REVISIONS

revision = "9000"
down_revision = REVISIONS[-2]


def upgrade() -> None:
    """Change the meaning of things only."""
    op.add_column("tasks", sa.Column("novelty", sa.Text(), nullable=True))
