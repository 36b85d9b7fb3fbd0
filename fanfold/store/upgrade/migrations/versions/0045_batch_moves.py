"""Triggers that refuse illegal moves of batches and questions; the lane of a call, and what it has reserved."""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0040"

TRIGGERS = {
    "sqlite": (
        "CREATE TRIGGER batches_legal_move BEFORE UPDATE OF state ON batches WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'fetching' AND NEW.state = 'done' OR OLD.state = 'running' AND NEW.state = 'failed' OR OLD.state = 'running' AND NEW.state = 'fetching' OR OLD.state = 'sending' AND NEW.state = 'done' OR OLD.state = 'sending' AND NEW.state = 'failed' OR OLD.state = 'sending' AND NEW.state = 'running') BEGIN SELECT RAISE(ABORT, 'illegal move in batches'); END",
        "CREATE TRIGGER batch_members_legal_move BEFORE UPDATE OF state ON batch_members WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'collected' AND NEW.state = 'answered' OR OLD.state = 'collected' AND NEW.state = 'failed' OR OLD.state = 'collected' AND NEW.state = 'live' OR OLD.state = 'collected' AND NEW.state = 'sent' OR OLD.state = 'live' AND NEW.state = 'answered' OR OLD.state = 'sent' AND NEW.state = 'answered' OR OLD.state = 'sent' AND NEW.state = 'collected' OR OLD.state = 'sent' AND NEW.state = 'failed' OR OLD.state = 'sent' AND NEW.state = 'live') BEGIN SELECT RAISE(ABORT, 'illegal move in batch_members'); END",
    ),
    "postgresql": (
        "CREATE TRIGGER batches_legal_move BEFORE UPDATE OF state ON batches FOR EACH ROW WHEN (OLD.state <> NEW.state AND NOT (OLD.state = 'fetching' AND NEW.state = 'done' OR OLD.state = 'running' AND NEW.state = 'failed' OR OLD.state = 'running' AND NEW.state = 'fetching' OR OLD.state = 'sending' AND NEW.state = 'done' OR OLD.state = 'sending' AND NEW.state = 'failed' OR OLD.state = 'sending' AND NEW.state = 'running')) EXECUTE FUNCTION fanfold_refuse_move()",
        "CREATE TRIGGER batch_members_legal_move BEFORE UPDATE OF state ON batch_members FOR EACH ROW WHEN (OLD.state <> NEW.state AND NOT (OLD.state = 'collected' AND NEW.state = 'answered' OR OLD.state = 'collected' AND NEW.state = 'failed' OR OLD.state = 'collected' AND NEW.state = 'live' OR OLD.state = 'collected' AND NEW.state = 'sent' OR OLD.state = 'live' AND NEW.state = 'answered' OR OLD.state = 'sent' AND NEW.state = 'answered' OR OLD.state = 'sent' AND NEW.state = 'collected' OR OLD.state = 'sent' AND NEW.state = 'failed' OR OLD.state = 'sent' AND NEW.state = 'live')) EXECUTE FUNCTION fanfold_refuse_move()",
    ),
}


def upgrade() -> None:
    """Add columns that may be empty, and triggers; workers of earlier versions can continue."""
    op.add_column("calls", sa.Column("lane", sa.String(length=16)))
    op.add_column("calls", sa.Column("reserved", sa.BigInteger()))
    op.add_column("calls", sa.Column("scopes", sa.Text()))
    for statement in TRIGGERS[op.get_context().dialect.name]:
        op.execute(statement)
