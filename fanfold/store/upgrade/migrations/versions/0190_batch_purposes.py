"""Why a question of the batch lane is asked again, so that fallbacks and retries are listed separately in the books."""

import sqlalchemy as sa
from alembic import op

revision = "0190"
down_revision = "0150"


def upgrade() -> None:
    """Add a column that may be empty; workers of earlier versions continue to work."""
    op.add_column("batch_members", sa.Column("purpose", sa.String(length=16)))
