"""The sample of a task: only its first items are claimed until somebody has seen what they cost."""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0050"


def upgrade() -> None:
    """Add a column that may be empty; workers of earlier versions continue to work."""
    op.add_column("tasks", sa.Column("sample", sa.Integer()))
