"""An index of the tasks of each state in the order of their last change."""

import sqlalchemy as sa
from alembic import op

revision = "0195"
down_revision = "0190"


def upgrade() -> None:
    """Add an index; workers of earlier versions continue to work."""
    always = sa.text("updated_at IS NOT NULL")  # See `only_if_compared`.
    op.create_index("tasks_state_updated", "tasks", ["state", "updated_at", "number"], sqlite_where=always)
