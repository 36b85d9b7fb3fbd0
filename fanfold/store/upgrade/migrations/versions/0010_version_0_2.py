"""Version 0.2: generations, degraded results, external jobs, decisions, sentences with codes, and large moves in short steps."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0010"
down_revision = "0001"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SENTENCES = (
    ("tasks", "reason_sentence"),
    ("tasks", "error_sentence"),
    ("items", "degraded_sentence"),
    ("item_data", "error_sentence"),
    ("item_data", "hold_sentence"),
    ("attempts", "error_sentence"),
    ("events", "reason_sentence"),
)
TRIGGERS = {
    "sqlite": "CREATE TRIGGER items_legal_move BEFORE UPDATE OF state ON items WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'done' AND NEW.state = 'pending' OR OLD.state = 'done' AND NEW.state = 'waiting' OR OLD.state = 'failed' AND NEW.state = 'pending' OR OLD.state = 'pending' AND NEW.state = 'running' OR OLD.state = 'retrying' AND NEW.state = 'pending' OR OLD.state = 'retrying' AND NEW.state = 'running' OR OLD.state = 'running' AND NEW.state = 'done' OR OLD.state = 'running' AND NEW.state = 'failed' OR OLD.state = 'running' AND NEW.state = 'pending' OR OLD.state = 'running' AND NEW.state = 'retrying' OR OLD.state = 'running' AND NEW.state = 'waiting' OR OLD.state = 'waiting' AND NEW.state = 'pending' OR OLD.state = 'waiting' AND NEW.state = 'running') BEGIN SELECT RAISE(ABORT, 'illegal move in items'); END",
    "postgresql": "CREATE TRIGGER items_legal_move BEFORE UPDATE OF state ON items FOR EACH ROW WHEN (OLD.state <> NEW.state AND NOT (OLD.state = 'done' AND NEW.state = 'pending' OR OLD.state = 'done' AND NEW.state = 'waiting' OR OLD.state = 'failed' AND NEW.state = 'pending' OR OLD.state = 'pending' AND NEW.state = 'running' OR OLD.state = 'retrying' AND NEW.state = 'pending' OR OLD.state = 'retrying' AND NEW.state = 'running' OR OLD.state = 'running' AND NEW.state = 'done' OR OLD.state = 'running' AND NEW.state = 'failed' OR OLD.state = 'running' AND NEW.state = 'pending' OR OLD.state = 'running' AND NEW.state = 'retrying' OR OLD.state = 'running' AND NEW.state = 'waiting' OR OLD.state = 'waiting' AND NEW.state = 'pending' OR OLD.state = 'waiting' AND NEW.state = 'running')) EXECUTE FUNCTION fanfold_refuse_move()",
}


def upgrade() -> None:
    """Add tables, indexes and nullable columns, and allow one more move; workers of 0.1 can continue."""
    _add_columns()
    _add_tables()
    name = op.get_context().dialect.name
    op.execute("DROP TRIGGER items_legal_move" + (" ON items" if name == "postgresql" else ""))
    op.execute(TRIGGERS[name])


def _add_columns() -> None:
    op.add_column("tasks", sa.Column("generation", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("tasks", sa.Column("fingerprint", sa.String(length=64)))
    op.add_column("tasks", sa.Column("lineage", sa.Text()))
    op.add_column("tasks", sa.Column("resetting", sa.String(length=32)))
    op.add_column("tasks", sa.Column("decided", sa.Integer()))
    active = sa.text("state = 'active'")
    op.create_index(
        "tasks_serving",
        "tasks",
        ["pipeline", "stage", sa.text("priority DESC"), "number", "owner"],
        postgresql_where=active,
        sqlite_where=active,
    )
    op.create_index("tasks_updated", "tasks", ["updated_at", "number"])
    op.add_column("items", sa.Column("degraded", sa.Text()))
    op.add_column("items", sa.Column("settled_by", sa.String(length=100)))
    op.add_column("items", sa.Column("accepted", sa.Integer()))
    degraded = sa.text("degraded IS NOT NULL")
    op.create_index("items_degraded", "items", ["task", "stage"], postgresql_where=degraded, sqlite_where=degraded)
    for name, kind in (
        ("generation", sa.Integer()),
        ("hold", sa.Text()),
        ("handed_back", sa.Integer()),
        ("troubled_since", UtcTime()),
        ("troubled_by", sa.String(length=63)),
        ("crash_progress", sa.Float()),
        ("crash_memory", sa.Integer()),
        ("forgiven_crashes", sa.Integer()),
        ("decided", sa.Integer()),
    ):
        op.add_column("item_data", sa.Column(name, kind))
    op.add_column("workers", sa.Column("swept_at", UtcTime()))
    for table, name in SENTENCES:
        op.add_column(table, sa.Column(name, sa.Text()))


def _add_tables() -> None:
    op.create_table(
        "drafts",
        sa.Column("task", NUMBER, autoincrement=False, nullable=False),
        sa.Column("stage", sa.String(length=63), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("token", sa.String(length=100), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("task", "stage", name=op.f("pk_drafts")),
    )
    op.create_table(
        "resets",
        sa.Column("task", NUMBER, autoincrement=False, nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("options", sa.Text()),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("task", name=op.f("pk_resets")),
    )
    op.create_table(
        "reset_items",
        sa.Column("item", NUMBER, autoincrement=False, nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("lease", sa.Integer()),
        sa.PrimaryKeyConstraint("item", name=op.f("pk_reset_items")),
    )
    op.create_index("reset_items_task", "reset_items", ["task", "item"])
    op.create_table(
        "deleted_tasks",
        sa.Column("task", NUMBER, autoincrement=False, nullable=False),
        sa.Column("deleted_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("task", name=op.f("pk_deleted_tasks")),
    )
    op.create_table(
        "externals",
        sa.Column("item", NUMBER, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("lease", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=400), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("job", sa.Text()),
        sa.Column("worker", sa.String(length=100)),
        sa.Column("intended_at", UtcTime(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("item", "name", name=op.f("pk_externals")),
    )
    op.create_index("externals_task", "externals", ["task"])
    op.create_table(
        "decisions",
        sa.Column("task", NUMBER, autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("stage", sa.String(length=63), nullable=False),
        sa.Column("item", sa.String(length=200), nullable=False),
        sa.Column("part", sa.String(length=200), nullable=False),
        sa.Column("verdict", sa.String(length=8), nullable=False),
        sa.Column("value", sa.Text()),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.CheckConstraint(
            "verdict IN ('accept', 'reject', 'replace', 'undo')", name=op.f("ck_decisions_verdict_known")
        ),
        sa.PrimaryKeyConstraint("task", "number", name=op.f("pk_decisions")),
    )
    op.create_index("decisions_part", "decisions", ["task", "stage", "item", "part", "number"])
