"""The first schema, that of 0.1."""

import sqlalchemy as sa
from alembic import op

from fanfold.store.dialects.sql_clock import UtcTime

revision = "0001"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

TRIGGERS = {
    "sqlite": (
        "CREATE TRIGGER items_legal_move BEFORE UPDATE OF state ON items WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'done' AND NEW.state = 'pending' OR OLD.state = 'failed' AND NEW.state = 'pending' OR OLD.state = 'pending' AND NEW.state = 'running' OR OLD.state = 'retrying' AND NEW.state = 'pending' OR OLD.state = 'retrying' AND NEW.state = 'running' OR OLD.state = 'running' AND NEW.state = 'done' OR OLD.state = 'running' AND NEW.state = 'failed' OR OLD.state = 'running' AND NEW.state = 'pending' OR OLD.state = 'running' AND NEW.state = 'retrying' OR OLD.state = 'running' AND NEW.state = 'waiting' OR OLD.state = 'waiting' AND NEW.state = 'pending' OR OLD.state = 'waiting' AND NEW.state = 'running') BEGIN SELECT RAISE(ABORT, 'illegal move in items'); END",
        "CREATE TRIGGER tasks_legal_move BEFORE UPDATE OF state ON tasks WHEN OLD.state <> NEW.state AND NOT (OLD.state = 'active' AND NEW.state = 'cancelled' OR OLD.state = 'active' AND NEW.state = 'completed' OR OLD.state = 'active' AND NEW.state = 'failed' OR OLD.state = 'active' AND NEW.state = 'partial' OR OLD.state = 'active' AND NEW.state = 'paused' OR OLD.state = 'active' AND NEW.state = 'waiting' OR OLD.state = 'cancelled' AND NEW.state = 'active' OR OLD.state = 'cancelled' AND NEW.state = 'waiting' OR OLD.state = 'completed' AND NEW.state = 'active' OR OLD.state = 'completed' AND NEW.state = 'waiting' OR OLD.state = 'failed' AND NEW.state = 'active' OR OLD.state = 'failed' AND NEW.state = 'waiting' OR OLD.state = 'partial' AND NEW.state = 'active' OR OLD.state = 'partial' AND NEW.state = 'cancelled' OR OLD.state = 'partial' AND NEW.state = 'waiting' OR OLD.state = 'paused' AND NEW.state = 'active' OR OLD.state = 'paused' AND NEW.state = 'cancelled' OR OLD.state = 'paused' AND NEW.state = 'waiting' OR OLD.state = 'waiting' AND NEW.state = 'active' OR OLD.state = 'waiting' AND NEW.state = 'cancelled') BEGIN SELECT RAISE(ABORT, 'illegal move in tasks'); END",
    ),
    "postgresql": (
        "CREATE FUNCTION fanfold_refuse_move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'illegal move in %: % to %', TG_TABLE_NAME, OLD.state, NEW.state USING ERRCODE = 'check_violation'; END $$",
        "CREATE TRIGGER items_legal_move BEFORE UPDATE OF state ON items FOR EACH ROW WHEN (OLD.state <> NEW.state AND NOT (OLD.state = 'done' AND NEW.state = 'pending' OR OLD.state = 'failed' AND NEW.state = 'pending' OR OLD.state = 'pending' AND NEW.state = 'running' OR OLD.state = 'retrying' AND NEW.state = 'pending' OR OLD.state = 'retrying' AND NEW.state = 'running' OR OLD.state = 'running' AND NEW.state = 'done' OR OLD.state = 'running' AND NEW.state = 'failed' OR OLD.state = 'running' AND NEW.state = 'pending' OR OLD.state = 'running' AND NEW.state = 'retrying' OR OLD.state = 'running' AND NEW.state = 'waiting' OR OLD.state = 'waiting' AND NEW.state = 'pending' OR OLD.state = 'waiting' AND NEW.state = 'running')) EXECUTE FUNCTION fanfold_refuse_move()",
        "CREATE TRIGGER tasks_legal_move BEFORE UPDATE OF state ON tasks FOR EACH ROW WHEN (OLD.state <> NEW.state AND NOT (OLD.state = 'active' AND NEW.state = 'cancelled' OR OLD.state = 'active' AND NEW.state = 'completed' OR OLD.state = 'active' AND NEW.state = 'failed' OR OLD.state = 'active' AND NEW.state = 'partial' OR OLD.state = 'active' AND NEW.state = 'paused' OR OLD.state = 'active' AND NEW.state = 'waiting' OR OLD.state = 'cancelled' AND NEW.state = 'active' OR OLD.state = 'cancelled' AND NEW.state = 'waiting' OR OLD.state = 'completed' AND NEW.state = 'active' OR OLD.state = 'completed' AND NEW.state = 'waiting' OR OLD.state = 'failed' AND NEW.state = 'active' OR OLD.state = 'failed' AND NEW.state = 'waiting' OR OLD.state = 'partial' AND NEW.state = 'active' OR OLD.state = 'partial' AND NEW.state = 'cancelled' OR OLD.state = 'partial' AND NEW.state = 'waiting' OR OLD.state = 'paused' AND NEW.state = 'active' OR OLD.state = 'paused' AND NEW.state = 'cancelled' OR OLD.state = 'paused' AND NEW.state = 'waiting' OR OLD.state = 'waiting' AND NEW.state = 'active' OR OLD.state = 'waiting' AND NEW.state = 'cancelled')) EXECUTE FUNCTION fanfold_refuse_move()",
    ),
}


def upgrade() -> None:
    """Create all tables, indexes, constraints and triggers."""
    op.create_table(
        "attempts",
        sa.Column("id", NUMBER, sa.Identity(always=False), nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("item", NUMBER, nullable=False),
        sa.Column("lease", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("started_at", UtcTime(), nullable=True),
        sa.Column("ended_at", UtcTime(), nullable=False),
        sa.Column("error_code", sa.String(length=100), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("error_detail", sa.Text(), nullable=True),
        sa.Column("model", sa.String(length=200), nullable=True),
        sa.Column("usage", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sqlite_autoincrement=True,
    )
    op.create_index("attempts_item", "attempts", ["item"], unique=False)
    op.create_index("attempts_task", "attempts", ["task"], unique=False)
    op.create_table(
        "blobs",
        sa.Column("key", sa.String(length=300), nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("item", NUMBER, nullable=True),
        sa.Column("lease", sa.Integer(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_blobs")),
    )
    op.create_index("blobs_task", "blobs", ["task"], unique=False)
    op.create_table(
        "duties",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("ran_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_duties")),
    )
    op.create_table(
        "emissions",
        sa.Column("item", NUMBER, autoincrement=False, nullable=False),
        sa.Column("lease", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("item", "lease", "position", name=op.f("pk_emissions")),
    )
    op.create_index("emissions_task", "emissions", ["task", "item", "position"], unique=False)
    op.create_table(
        "events",
        sa.Column("id", NUMBER, sa.Identity(always=False), nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("verb", sa.String(length=16), nullable=False),
        sa.Column("source", sa.String(length=16), nullable=True),
        sa.Column("target", sa.String(length=16), nullable=True),
        sa.Column("stage", sa.String(length=63), nullable=True),
        sa.Column("item", sa.String(length=200), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sqlite_autoincrement=True,
    )
    op.create_index("events_task", "events", ["task", "id"], unique=False)
    op.create_table(
        "item_data",
        sa.Column("item", NUMBER, autoincrement=False, nullable=False),
        sa.Column("input", sa.Text(), nullable=True),
        sa.Column("output", sa.Text(), nullable=True),
        sa.Column("error_code", sa.String(length=100), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("error_detail", sa.Text(), nullable=True),
        sa.Column("model", sa.String(length=200), nullable=True),
        sa.Column("usage", sa.Text(), nullable=True),
        sa.Column("progress", sa.Float(), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("options", sa.Text(), nullable=True),
        sa.Column("memory", sa.Text(), nullable=True),
        sa.Column("waiting_since", UtcTime(), nullable=True),
        sa.Column("made_by", sa.String(length=100), nullable=True),
        sa.Column("previous", sa.Text(), nullable=True),
        sa.Column("previous_model", sa.String(length=200), nullable=True),
        sa.PrimaryKeyConstraint("item", name=op.f("pk_item_data")),
    )
    op.create_table(
        "items",
        sa.Column("id", NUMBER, sa.Identity(always=False), nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("stage", sa.String(length=63), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=True),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("lease", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("available_at", UtcTime(), nullable=True),
        sa.Column("deadline_at", UtcTime(), nullable=True),
        sa.Column("attempts", sa.SmallInteger(), nullable=False),
        sa.Column("failures", sa.SmallInteger(), nullable=False),
        sa.Column("crashes", sa.SmallInteger(), nullable=False),
        sa.Column("started_at", UtcTime(), nullable=True),
        sa.Column("finished_at", UtcTime(), nullable=True),
        sa.CheckConstraint("(state = 'running') = (worker IS NOT NULL)", name=op.f("ck_items_running_has_worker")),
        sa.CheckConstraint(
            "(state IN ('done', 'failed')) = (finished_at IS NOT NULL)", name=op.f("ck_items_settled_has_time")
        ),
        sa.CheckConstraint(
            "(state IN ('retrying', 'waiting')) = (available_at IS NOT NULL)", name=op.f("ck_items_timed_has_time")
        ),
        sa.CheckConstraint(
            "state IN ('pending', 'running', 'retrying', 'waiting', 'done', 'failed')",
            name=op.f("ck_items_state_known"),
        ),
        sa.CheckConstraint("state NOT IN ('running', 'done') OR lease > 0", name=op.f("ck_items_leased_once_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_items")),
        postgresql_with={"fillfactor": "70"},
        sqlite_autoincrement=True,
    )
    keyed = sa.text('"key" IS NOT NULL')
    op.create_index(
        "items_key", "items", ["task", "stage", "key"], unique=True, postgresql_where=keyed, sqlite_where=keyed
    )
    op.create_index("items_order", "items", ["task", "stage", "seq"], unique=True, postgresql_include=["state"])
    if op.get_context().dialect.name == "postgresql":
        op.create_index(
            "items_open",
            "items",
            ["task", "stage", "state", "id"],
            postgresql_where=sa.text("state IN ('pending', 'running', 'retrying', 'waiting')"),
        )
    else:
        op.create_index("items_progress", "items", ["task", "stage", "state"])
    op.create_index(
        "items_running",
        "items",
        ["worker", "deadline_at"],
        unique=False,
        postgresql_where=sa.text("state = 'running'"),
        sqlite_where=sa.text("state = 'running'"),
    )
    op.create_index(
        "items_timed",
        "items",
        ["available_at", "task"],
        unique=False,
        postgresql_where=sa.text("state IN ('retrying', 'waiting')"),
        sqlite_where=sa.text("state IN ('retrying', 'waiting')"),
    )
    op.create_table(
        "limits",
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_limits")),
    )
    op.create_table(
        "permits",
        sa.Column("item", NUMBER, autoincrement=False, nullable=False),
        sa.Column("lease", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("item", name=op.f("pk_permits")),
    )
    op.create_index("permits_name", "permits", ["name"], unique=False)
    op.create_table(
        "task_tags",
        sa.Column("tag", sa.String(length=100), nullable=False),
        sa.Column("task", NUMBER, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("tag", "task", name=op.f("pk_task_tags")),
    )
    op.create_index("task_tags_task", "task_tags", ["task"], unique=False)
    op.create_table(
        "tasks",
        sa.Column("number", NUMBER, sa.Identity(always=False), nullable=False),
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("pipeline", sa.String(length=63), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("stage", sa.String(length=63), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("input", sa.Text(), nullable=True),
        sa.Column("options", sa.Text(), nullable=True),
        sa.Column("extra", sa.Text(), nullable=True),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=True),
        sa.Column("retry_limit", sa.Integer(), nullable=True),
        sa.Column("ending", sa.String(length=16), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("error_code", sa.String(length=100), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("missing", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.Column("started_at", UtcTime(), nullable=True),
        sa.Column("finished_at", UtcTime(), nullable=True),
        sa.CheckConstraint(
            "(state IN ('completed', 'partial', 'failed', 'cancelled')) = (finished_at IS NOT NULL)",
            name=op.f("ck_tasks_finished_has_time"),
        ),
        sa.CheckConstraint("ending IS NULL OR ending IN ('failed', 'cancelled')", name=op.f("ck_tasks_ending_known")),
        sa.CheckConstraint(
            "state IN ('active', 'waiting', 'paused', 'completed', 'partial', 'failed', 'cancelled')",
            name=op.f("ck_tasks_state_known"),
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_tasks")),
        sa.UniqueConstraint("id", name=op.f("uq_tasks_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "tasks_active",
        "tasks",
        [sa.literal_column("priority DESC"), "number"],
        unique=False,
        postgresql_where=sa.text("state = 'active'"),
        sqlite_where=sa.text("state = 'active'"),
    )
    op.create_index("tasks_finished", "tasks", ["finished_at"], unique=False)
    op.create_index("tasks_key", "tasks", ["owner", "key"], unique=True)
    op.create_index("tasks_owner", "tasks", ["owner", "number"], unique=False)
    op.create_index("tasks_pipeline", "tasks", ["pipeline", "number"], unique=False)
    op.create_index("tasks_state", "tasks", ["state", "number"], unique=False)
    op.create_table(
        "answers",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("asked_by", sa.String(length=100), nullable=True),
        sa.Column("worker", sa.String(length=100), nullable=True),
        sa.Column("asked_until", UtcTime(), nullable=True),
        sa.Column("answered_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_answers")),
    )
    op.create_index("answers_age", "answers", ["answered_at"], unique=False)
    op.create_table(
        "calls",
        sa.Column("id", NUMBER, sa.Identity(always=False), nullable=False),
        sa.Column("task", NUMBER, nullable=False),
        sa.Column("item", NUMBER, nullable=False),
        sa.Column("lease", sa.Integer(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("provider", sa.String(length=63), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("outcome", sa.String(length=100), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("cached_tokens", sa.Integer(), nullable=True),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("answer", sa.String(length=64), nullable=True),
        sa.Column("raw", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_calls")),
        sqlite_autoincrement=True,
    )
    op.create_index("calls_answer", "calls", ["answer"], unique=False)
    op.create_index("calls_item", "calls", ["item"], unique=False)
    op.create_index("calls_task", "calls", ["task"], unique=False)
    op.create_table(
        "tokens",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=True),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("expires_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_tokens_hash")),
    )
    op.create_table(
        "revisions",
        sa.Column("revision", sa.String(length=32), nullable=False),
        sa.Column("compatible_from", sa.String(length=32), nullable=False),
        sa.Column("upgraded_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_revisions")),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=100), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("serves", sa.Text(), nullable=False),
        sa.Column("concurrency", sa.Integer(), nullable=False),
        sa.Column("running", sa.Integer(), nullable=False),
        sa.Column("stopping", sa.Boolean(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("busy_seconds", sa.Float(), nullable=False),
        sa.Column("started_at", UtcTime(), nullable=False),
        sa.Column("seen_at", UtcTime(), nullable=False),
        sa.Column("revision", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    for statement in TRIGGERS[op.get_context().dialect.name]:
        op.execute(statement)
