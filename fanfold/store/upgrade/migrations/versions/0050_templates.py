"""Templates by name and version, and the tasks that used them."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0050"
down_revision = "0045"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add two tables; workers of earlier versions can continue."""
    op.create_table(
        "templates",
        sa.Column("kind", sa.String(length=63), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "name", "version", name=op.f("pk_templates")),
    )
    op.create_table(
        "template_uses",
        sa.Column("task", NUMBER, autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=63), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("task", "kind", "name", "version", name=op.f("pk_template_uses")),
    )
    op.create_index("template_uses_name", "template_uses", ["kind", "name", "task"])
