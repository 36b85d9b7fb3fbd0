"""Credits of an installation's users: accounts, and a ledger that the database keeps append-only."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.schema import COUNTED_UP
from fanfold.store.dialects.sql_clock import UtcTime

revision = "0100"
down_revision = "0092"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TRIGGERS = {
    "sqlite": tuple(
        f"CREATE TRIGGER credit_entries_no_{verb.lower()} BEFORE {verb} ON credit_entries"
        " BEGIN SELECT RAISE(ABORT, 'credit_entries is append-only'); END"
        for verb in ("UPDATE", "DELETE")
    ),
    "postgresql": (
        "CREATE FUNCTION fanfold_refuse_change() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'check_violation'; END $$",
        "CREATE TRIGGER credit_entries_append_only BEFORE UPDATE OR DELETE ON credit_entries"
        " FOR EACH ROW EXECUTE FUNCTION fanfold_refuse_change()",
    ),
}


def upgrade() -> None:
    """Add two tables; workers of earlier versions can continue, without credits."""
    op.create_table(
        "credit_accounts",
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("balance", sa.BigInteger(), nullable=False),
        sa.Column("outside", sa.Boolean(), nullable=False),
        sa.Column("opened_at", UtcTime(), nullable=False),
        sa.CheckConstraint("balance >= 0 OR outside", name=op.f("ck_credit_accounts_never_below_zero")),
        sa.PrimaryKeyConstraint("owner", name=op.f("pk_credit_accounts")),
    )
    op.create_table(
        "credit_entries",
        sa.Column("id", NUMBER, sa.Identity(), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("task", sa.String(length=32), nullable=False),
        sa.Column("item", sa.String(length=200), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("reason_sentence", sa.Text()),
        sa.Column("key", sa.String(length=200)),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_credit_entries")),
        sa.UniqueConstraint("task", "item", "kind", "generation", name=op.f("uq_credit_entries_task")),
        **COUNTED_UP,
    )
    op.create_index("credit_entries_owner", "credit_entries", ["owner", "id"])
    for statement in TRIGGERS[op.get_context().dialect.name]:
        op.execute(statement)
