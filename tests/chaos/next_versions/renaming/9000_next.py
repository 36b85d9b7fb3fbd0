"""Another name for a column, which breaks the statements of older code."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.upgrade.revisions import REVISIONS

revision = "9000"
down_revision = REVISIONS[-2]


def upgrade() -> None:
    """Rename a column."""
    op.execute(sa.text("ALTER TABLE items RENAME COLUMN started_at TO begun_at"))
