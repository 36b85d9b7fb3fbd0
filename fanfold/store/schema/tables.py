"""Declares the tables. Together with `indexes` this is the schema; a test proves that the migrations produce exactly it."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Boolean, CheckConstraint, Column, Float, Integer, SmallInteger, String, Table, Text

from fanfold.model.item import HELD_FROM
from fanfold.model.lifecycle import (
    OPEN_ITEMS,
    TIMED_ITEMS,
    ItemState,
    TaskState,
)
from fanfold.store.dialects.dialect import Dialect
from fanfold.store.dialects.schema import COUNTED_UP, Number
from fanfold.store.dialects.sql_clock import UtcTime
from fanfold.store.schema.carrier_tables import hints, unstopped
from fanfold.store.schema.constraints import DECISION_CHECKS, ITEM_CHECKS, TASK_CHECKS
from fanfold.store.schema.duration_tables import stage_durations
from fanfold.store.schema.file_tables import file_places
from fanfold.store.schema.metadata import metadata
from fanfold.store.schema.money.batch_tables import batch_members, batches
from fanfold.store.schema.money.credit_tables import credit_accounts, credit_entries
from fanfold.store.schema.schedule_tables import schedule_runs, schedules
from fanfold.store.schema.subtask_tables import gate_answers, subtasks
from fanfold.store.schema.template_tables import template_uses, templates
from fanfold.store.schema.webhook_tables import webhooks

__all__ = [
    "batch_members",
    "batches",
    "credit_accounts",
    "credit_entries",
    "file_places",
    "gate_answers",
    "hints",
    "metadata",
    "schedule_runs",
    "schedules",
    "stage_durations",
    "subtasks",
    "template_uses",
    "templates",
    "unstopped",
    "webhooks",
]

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
    Column("decided", Integer),
    Column("reason_sentence", Text),
    Column("error_sentence", Text),
    Column("sample", Integer),
    Column("start_at", UtcTime),
    Column("notify", Text),
    Column("parent", Number),
    Column("parent_item", Number),
    Column("by_parent", Boolean),
    Column("closed_at", UtcTime),
    *(CheckConstraint(check, name=name) for name, check in TASK_CHECKS.items()),
    **COUNTED_UP,
)
UNFINISHED = sa.and_(
    tasks.c.parent.is_not(None),
    tasks.c.state.in_(
        [sa.literal_column(f"'{state}'") for state in (TaskState.ACTIVE, TaskState.WAITING, TaskState.PAUSED)]
    ),
)
"""Unfinished subtasks, written exactly as in their partial index."""
ACTIVE = tasks.c.state == sa.literal_column(f"'{TaskState.ACTIVE}'")

task_tags = Table(
    "task_tags",
    metadata,
    Column("tag", String(100), primary_key=True),
    Column("task", Number, primary_key=True, autoincrement=False),
)

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
    Column("degraded_sentence", Text),
    *(CheckConstraint(check, name=name) for name, check in ITEM_CHECKS.items()),
    **COUNTED_UP,
)


def in_states(states: tuple[ItemState, ...]) -> sa.ColumnElement[bool]:
    """The condition that an item is in one of ``states``, written exactly as in the partial indexes."""
    if len(states) == 1:
        return items.c.state == sa.literal_column(f"'{states[0]}'")
    return items.c.state.in_([sa.literal_column(f"'{state}'") for state in states])


PENDING = in_states((ItemState.PENDING,))
RUNNING = in_states((ItemState.RUNNING,))
TIMED = in_states(TIMED_ITEMS)
OPEN = in_states(OPEN_ITEMS)
HELD = sa.and_(TIMED, items.c.available_at >= sa.literal(HELD_FROM, UtcTime))
"""Items that wait for a person. They are marked only by their time, so that the index on the time finds them."""


def held_of(dialect: Dialect, task: int, stage: str) -> sa.ColumnElement[bool]:
    """The item belongs to the stage and waits for a person.

    Written to use the index on the time: SQLite would otherwise read every waiting item of the task.
    """
    return sa.and_(dialect.hidden(items.c.task) == task, items.c.stage == stage, HELD)


DUE_SOME_TIME = sa.and_(TIMED, items.c.available_at < sa.literal(HELD_FROM, UtcTime))
"""Items that become due at a time."""

KEYED = items.c.key.is_not(None)
DEGRADED = items.c.degraded.is_not(None)
ACCEPTED = sa.and_(DEGRADED, items.c.accepted == items.c.lease)
"""Results that a person accepted. `accepted` is the lease of the result, so a new result must be accepted again."""
UNACCEPTED = sa.and_(DEGRADED, sa.or_(items.c.accepted.is_(None), items.c.accepted != items.c.lease))

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
    Column("decided", Integer),
    Column("error_sentence", Text),
    Column("hold_sentence", Text),
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
"""Stages whose items are hidden: still being written (`new`) or still being removed (`old`)."""

resets = Table(
    "resets",
    metadata,
    Column("task", Number, primary_key=True, autoincrement=False),
    Column("token", String(32), nullable=False),
    Column("options", Text),
    Column("at", UtcTime, nullable=False),
)
"""Retries and reruns of many items in progress. Decided once `tasks.resetting` has the token."""

reset_items = Table(
    "reset_items",
    metadata,
    Column("item", Number, primary_key=True, autoincrement=False),
    Column("task", Number, nullable=False),
    Column("token", String(32), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("lease", Integer),
)
"""Items to be reset; with a lease, only if the item has not been claimed since."""

deleted_tasks = Table(
    "deleted_tasks",
    metadata,
    Column("task", Number, primary_key=True, autoincrement=False),
    Column("deleted_at", UtcTime, nullable=False),
)
"""Deleted tasks whose remaining rows are still being removed, in short transactions."""

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
    Column("wake", String(64)),
)
"""External jobs: the intent to start one, written before the call, and the job's id once it is known."""

external_durations = Table(
    "external_durations",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("seconds", sa.Float, nullable=False),
    Column("count", Integer, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
)
"""How long external jobs usually take: a running estimate of the median, by the name that handlers give to a kind of job."""

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
    Column("error_sentence", Text),
    **COUNTED_UP,
)

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
    Column("reason_sentence", Text),
    **COUNTED_UP,
)

decisions = Table(
    "decisions",
    metadata,
    Column("task", Number, primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("stage", String(63), nullable=False),
    Column("item", String(200), nullable=False),
    Column("part", String(200), nullable=False),
    Column("verdict", String(8), nullable=False),
    Column("value", Text),
    Column("actor", String(100), nullable=False),
    Column("at", UtcTime, nullable=False),
    *(CheckConstraint(check, name=name) for name, check in DECISION_CHECKS.items()),
)
"""People's decisions about parts of results, append-only. Of those about one part, the one with the highest number counts.

Items are named by key and parts by content, so that decisions outlive a redo. `tasks.decided` is the last number of a task;
`item_data.decided` of a merge's item is the last number when its attempt started.
"""

emissions = Table(
    "emissions",
    metadata,
    Column("item", Number, primary_key=True, autoincrement=False),
    Column("lease", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("task", Number, nullable=False),
    Column("body", Text, nullable=False),
)

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
    Column("purpose", String(16)),
    Column("lane", String(16)),
    Column("reserved", sa.BigInteger),
    Column("scopes", Text),
    **COUNTED_UP,
)

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

OUTLIVING = (deleted_tasks, credit_entries)
OF_TASKS = tuple(table for table in metadata.sorted_tables if "task" in table.c and table not in OUTLIVING)
"""Tables whose rows belong to a task and are removed with it. Entries of the ledger stay."""
