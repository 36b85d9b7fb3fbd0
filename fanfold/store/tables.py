"""Which tables are there? The declared schema; a test proves that the migrations give exactly this."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Boolean, CheckConstraint, Column, Float, Index, Integer, SmallInteger, String, Table, Text

from fanfold.model.item import HELD_FROM
from fanfold.model.lifecycle import (
    ITEM_CHECKS,
    ITEM_MOVES,
    OPEN_ITEMS,
    TASK_CHECKS,
    TASK_MOVES,
    TIMED_ITEMS,
    ItemState,
    TaskState,
    illegal_change,
)
from fanfold.store.dialects.clock import UtcTime

metadata = sa.MetaData(
    naming_convention={
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)
Number = sa.BigInteger().with_variant(Integer, "sqlite")

tasks = Table(
    "tasks",
    metadata,
    Column("number", Number, sa.Identity(), primary_key=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("pipeline", String(63), nullable=False),
    Column("title", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("stage", String(63), nullable=False),
    Column("plan", Text, nullable=False),
    Column("input", Text),
    Column("options", Text),
    Column("extra", Text),
    Column("owner", String(200), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("key", String(200)),
    Column("retry_limit", Integer),
    Column("ending", String(16)),
    Column("reason", Text),
    Column("error_code", String(100)),
    Column("error_message", Text),
    Column("missing", Integer, nullable=False, server_default="0"),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Column("started_at", UtcTime),
    Column("finished_at", UtcTime),
    Column("generation", Integer, nullable=False, server_default="0"),
    Column("fingerprint", String(64)),
    Column("lineage", Text),
    Column("resetting", String(32)),
    *(CheckConstraint(check, name=name) for name, check in TASK_CHECKS.items()),
    sqlite_autoincrement=True,
)
Index("tasks_key", tasks.c.owner, tasks.c.key, unique=True)
ACTIVE = tasks.c.state == sa.literal_column(f"'{TaskState.ACTIVE}'")
Index("tasks_active", tasks.c.priority.desc(), tasks.c.number, postgresql_where=ACTIVE, sqlite_where=ACTIVE)
Index(
    "tasks_serving",
    tasks.c.pipeline,
    tasks.c.stage,
    tasks.c.priority.desc(),
    tasks.c.number,
    tasks.c.owner,
    postgresql_where=ACTIVE,
    sqlite_where=ACTIVE,
)
Index("tasks_state", tasks.c.state, tasks.c.number)
Index("tasks_pipeline", tasks.c.pipeline, tasks.c.number)
Index("tasks_owner", tasks.c.owner, tasks.c.number)
Index("tasks_finished", tasks.c.finished_at)

task_tags = Table(
    "task_tags",
    metadata,
    Column("tag", String(100), primary_key=True),
    Column("task", Number, primary_key=True, autoincrement=False),
)
Index("task_tags_task", task_tags.c.task)

items = Table(
    "items",
    metadata,
    Column("id", Number, sa.Identity(), primary_key=True),
    Column("task", Number, nullable=False),
    Column("stage", String(63), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("key", String(200)),
    Column("state", String(8), nullable=False),
    Column("lease", Integer, nullable=False),
    Column("worker", String(100)),
    Column("available_at", UtcTime),
    Column("deadline_at", UtcTime),
    Column("attempts", SmallInteger, nullable=False),
    Column("failures", SmallInteger, nullable=False),
    Column("crashes", SmallInteger, nullable=False),
    Column("started_at", UtcTime),
    Column("finished_at", UtcTime),
    Column("degraded", Text),
    Column("settled_by", String(100)),
    Column("accepted", Integer),
    *(CheckConstraint(check, name=name) for name, check in ITEM_CHECKS.items()),
    sqlite_autoincrement=True,
    postgresql_with={"fillfactor": "70"},
)


def in_states(states: tuple[ItemState, ...]) -> sa.ColumnElement[bool]:
    """The condition that an item is in one of ``states``, written as the partial indexes have it."""
    if len(states) == 1:
        return items.c.state == sa.literal_column(f"'{states[0]}'")
    return items.c.state.in_([sa.literal_column(f"'{state}'") for state in states])


PENDING = in_states((ItemState.PENDING,))
RUNNING = in_states((ItemState.RUNNING,))
TIMED = in_states(TIMED_ITEMS)
OPEN = in_states(OPEN_ITEMS)
HELD = sa.and_(TIMED, items.c.available_at >= sa.literal(HELD_FROM, UtcTime))
"""Items that wait for a person: only the time tells, so that the index on it finds them."""


def held_of(dialect: str, task: int, stage: str) -> sa.ColumnElement[bool]:
    """The item is one of a stage that waits for a person.

    `+ 0` hides from SQLite all indexes but the one on the time: it would rather read everything of the task that waits for
    anything.
    """
    of_task = items.c.task + 0 if dialect == "sqlite" else items.c.task
    return sa.and_(of_task == task, items.c.stage == stage, HELD)


DUE_SOME_TIME = sa.and_(TIMED, items.c.available_at < sa.literal(HELD_FROM, UtcTime))
"""Items that fall due by themselves."""

# An update writes an entry into every index of its row on PostgreSQL, and on SQLite into those whose columns change. So each
# database has what costs it least: counts come from `items_order` there and from `items_progress` here, claims from `items_open`
# there and, since every index of SQLite ends with the row's id, from `items_progress` here.
KEYED = items.c.key.is_not(None)
Index("items_order", items.c.task, items.c.stage, items.c.seq, unique=True, postgresql_include=["state"])
Index("items_key", items.c.task, items.c.stage, items.c.key, unique=True, postgresql_where=KEYED, sqlite_where=KEYED)
Index("items_progress", items.c.task, items.c.stage, items.c.state).ddl_if(dialect="sqlite")
Index("items_open", items.c.task, items.c.stage, items.c.state, items.c.id, postgresql_where=OPEN).ddl_if(
    dialect="postgresql"
)
Index("items_timed", items.c.available_at, items.c.task, postgresql_where=TIMED, sqlite_where=TIMED)
DEGRADED = items.c.degraded.is_not(None)
ACCEPTED = sa.and_(DEGRADED, items.c.accepted == items.c.lease)
"""A person keeps the result as it is. `accepted` is the lease of that result, so a redo needs a person again."""
UNACCEPTED = sa.and_(DEGRADED, sa.or_(items.c.accepted.is_(None), items.c.accepted != items.c.lease))
Index("items_degraded", items.c.task, items.c.stage, postgresql_where=DEGRADED, sqlite_where=DEGRADED)
Index("items_running", items.c.worker, items.c.deadline_at, postgresql_where=RUNNING, sqlite_where=RUNNING)

item_data = Table(
    "item_data",
    metadata,
    Column("item", Number, primary_key=True, autoincrement=False),
    Column("input", Text),
    Column("output", Text),
    Column("error_code", String(100)),
    Column("error_message", Text),
    Column("error_detail", Text),
    Column("model", String(200)),
    Column("usage", Text),
    Column("progress", Float),
    Column("message", Text),
    Column("options", Text),
    Column("memory", Text),
    Column("waiting_since", UtcTime),
    Column("made_by", String(100)),
    Column("previous", Text),
    Column("previous_model", String(200)),
    Column("generation", Integer),
    Column("hold", Text),
    Column("handed_back", Integer),
    Column("troubled_since", UtcTime),
    Column("troubled_by", String(63)),
    Column("crash_progress", Float),
    Column("crash_memory", Integer),
    Column("forgiven_crashes", Integer),
)

drafts = Table(
    "drafts",
    metadata,
    Column("task", Number, primary_key=True, autoincrement=False),
    Column("stage", String(63), primary_key=True),
    Column("kind", String(8), nullable=False),
    Column("token", String(100), nullable=False),
    Column("at", UtcTime, nullable=False),
)
"""Stages whose items do not count: not yet (`new`, still being written) or no longer (`old`, still being removed)."""

resets = Table(
    "resets",
    metadata,
    Column("task", Number, primary_key=True, autoincrement=False),
    Column("token", String(32), nullable=False),
    Column("options", Text),
    Column("at", UtcTime, nullable=False),
)
"""Retries and reruns of many items that are under way. Decided once `tasks.resetting` has the token."""

reset_items = Table(
    "reset_items",
    metadata,
    Column("item", Number, primary_key=True, autoincrement=False),
    Column("task", Number, nullable=False),
    Column("token", String(32), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("lease", Integer),
)
"""Items that a reset puts back. Where there is a lease, only if the item has not been claimed since."""
Index("reset_items_task", reset_items.c.task, reset_items.c.item)

deleted_tasks = Table(
    "deleted_tasks",
    metadata,
    Column("task", Number, primary_key=True, autoincrement=False),
    Column("deleted_at", UtcTime, nullable=False),
)
"""Tasks whose row is gone while what belonged to them is still being removed, in short transactions."""

externals = Table(
    "externals",
    metadata,
    Column("item", Number, primary_key=True, autoincrement=False),
    Column("name", String(63), primary_key=True),
    Column("task", Number, nullable=False),
    Column("lease", Integer, nullable=False),
    Column("key", String(400), nullable=False),
    Column("state", String(16), nullable=False),
    Column("job", Text),
    Column("worker", String(100)),
    Column("intended_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
)
"""External jobs: the intent to start one, written before the call, and the job's id once it is known."""
Index("externals_task", externals.c.task)

attempts = Table(
    "attempts",
    metadata,
    Column("id", Number, sa.Identity(), primary_key=True),
    Column("task", Number, nullable=False),
    Column("item", Number, nullable=False),
    Column("lease", Integer, nullable=False),
    Column("worker", String(100)),
    Column("outcome", String(16), nullable=False),
    Column("started_at", UtcTime),
    Column("ended_at", UtcTime, nullable=False),
    Column("error_code", String(100)),
    Column("error_message", Text),
    Column("error_detail", Text),
    Column("model", String(200)),
    Column("usage", Text),
    sqlite_autoincrement=True,
)
Index("attempts_item", attempts.c.item)
Index("attempts_task", attempts.c.task)

events = Table(
    "events",
    metadata,
    Column("id", Number, sa.Identity(), primary_key=True),
    Column("task", Number, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("actor", String(100), nullable=False),
    Column("verb", String(16), nullable=False),
    Column("source", String(16)),
    Column("target", String(16)),
    Column("stage", String(63)),
    Column("item", String(200)),
    Column("reason", Text),
    sqlite_autoincrement=True,
)
Index("events_task", events.c.task, events.c.id)

emissions = Table(
    "emissions",
    metadata,
    Column("item", Number, primary_key=True, autoincrement=False),
    Column("lease", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("task", Number, nullable=False),
    Column("body", Text, nullable=False),
)
Index("emissions_task", emissions.c.task, emissions.c.item, emissions.c.position)

blobs = Table(
    "blobs",
    metadata,
    Column("key", String(300), primary_key=True),
    Column("task", Number, nullable=False),
    Column("item", Number),
    Column("lease", Integer),
    Column("name", Text, nullable=False),
    Column("size", sa.BigInteger, nullable=False),
    Column("created_at", UtcTime, nullable=False),
)
Index("blobs_task", blobs.c.task)

workers = Table(
    "workers",
    metadata,
    Column("id", String(100), primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("serves", Text, nullable=False),
    Column("concurrency", Integer, nullable=False),
    Column("running", Integer, nullable=False),
    Column("stopping", Boolean, nullable=False),
    Column("done", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("busy_seconds", Float, nullable=False),
    Column("started_at", UtcTime, nullable=False),
    Column("seen_at", UtcTime, nullable=False),
    Column("revision", String(32)),
    Column("swept_at", UtcTime),
)

duties = Table(
    "duties", metadata, Column("name", String(100), primary_key=True), Column("ran_at", UtcTime, nullable=False)
)

limits = Table(
    "limits", metadata, Column("name", String(200), primary_key=True), Column("size", Integer, nullable=False)
)

permits = Table(
    "permits",
    metadata,
    Column("item", Number, primary_key=True, autoincrement=False),
    Column("lease", Integer, nullable=False),
    Column("name", String(200), nullable=False),
)
Index("permits_name", permits.c.name)

answers = Table(
    "answers",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("body", Text),
    Column("asked_by", String(100)),
    Column("worker", String(100)),
    Column("asked_until", UtcTime),
    Column("answered_at", UtcTime),
)
Index("answers_age", answers.c.answered_at)

calls = Table(
    "calls",
    metadata,
    Column("id", Number, sa.Identity(), primary_key=True),
    Column("task", Number, nullable=False),
    Column("item", Number, nullable=False),
    Column("lease", Integer, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("provider", String(63), nullable=False),
    Column("model", String(200), nullable=False),
    Column("outcome", String(100), nullable=False),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    Column("cached_tokens", Integer),
    Column("cost", Float),
    Column("seconds", Float, nullable=False),
    Column("answer", String(64)),
    Column("raw", Text),
    sqlite_autoincrement=True,
)
Index("calls_task", calls.c.task)
Index("calls_item", calls.c.item)
Index("calls_answer", calls.c.answer)

tokens = Table(
    "tokens",
    metadata,
    Column("name", String(100), primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("owner", String(200)),
    Column("role", String(16), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime),
)

revisions = Table(
    "revisions",
    metadata,
    Column("revision", String(32), primary_key=True),
    Column("compatible_from", String(32), nullable=False),
    Column("upgraded_at", UtcTime, nullable=False),
)

OF_TASKS = tuple(table for table in metadata.sorted_tables if "task" in table.c and table is not deleted_tasks)
"""Every table whose rows belong to a task: they are removed with it."""


def trigger_statements(dialect: str) -> list[str]:
    """The triggers that refuse, in the database itself, any change of state that the table of moves does not have."""
    guarded = (("items", illegal_change(ITEM_MOVES)), ("tasks", illegal_change(TASK_MOVES)))
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER {table}_legal_move BEFORE UPDATE OF state ON {table} WHEN {illegal} "
            f"BEGIN SELECT RAISE(ABORT, 'illegal move in {table}'); END"
            for table, illegal in guarded
        ]
    refuse = (
        "CREATE FUNCTION fanfold_refuse_move() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'illegal move in %: % to %', TG_TABLE_NAME, OLD.state, NEW.state "
        "USING ERRCODE = 'check_violation'; END $$"
    )
    return [refuse] + [
        f"CREATE TRIGGER {table}_legal_move BEFORE UPDATE OF state ON {table} FOR EACH ROW "
        f"WHEN ({illegal}) EXECUTE FUNCTION fanfold_refuse_move()"
        for table, illegal in guarded
    ]
