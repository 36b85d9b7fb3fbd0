"""Declares the indexes and the layout of tables. Only tests that compare the schema with the migrations use this.

No running program imports this module, so that a process on SQLite does not load SQLAlchemy's PostgreSQL dialect.
"""

from __future__ import annotations

from sqlalchemy import Index

from fanfold.store.dialects.schema import OFTEN_CHANGED, covering, if_indexes_end_with_id, only_if_compared, only_where
from fanfold.store.schema.money.batch_tables import COLLECTED, OPEN_BATCH, SENT, batch_members, batches
from fanfold.store.schema.money.budget_tables import budgets
from fanfold.store.schema.money.credit_tables import credit_entries
from fanfold.store.schema.tables import (
    ACTIVE,
    DEGRADED,
    KEYED,
    OPEN,
    RUNNING,
    TIMED,
    UNFINISHED,
    answers,
    attempts,
    blobs,
    calls,
    decisions,
    emissions,
    events,
    externals,
    items,
    metadata,
    permits,
    reset_items,
    subtasks,
    task_tags,
    tasks,
    template_uses,
)

__all__ = ["metadata"]
items.dialect_kwargs.update(OFTEN_CHANGED)
budgets.dialect_kwargs.update(OFTEN_CHANGED)
Index("credit_entries_owner", credit_entries.c.owner, credit_entries.c.id)
Index("tasks_key", tasks.c.owner, tasks.c.key, unique=True)
Index("tasks_active", tasks.c.priority.desc(), tasks.c.number, **only_where(ACTIVE))
Index(
    "tasks_serving",
    tasks.c.pipeline,
    tasks.c.stage,
    tasks.c.priority.desc(),
    tasks.c.number,
    tasks.c.owner,
    **only_where(ACTIVE),
)
Index("tasks_state", tasks.c.state, tasks.c.number)
Index(
    "tasks_state_updated",
    tasks.c.state,
    tasks.c.updated_at,
    tasks.c.number,
    **only_if_compared(tasks.c.updated_at),
)
Index("tasks_pipeline", tasks.c.pipeline, tasks.c.number)
Index("tasks_owner", tasks.c.owner, tasks.c.number)
Index("tasks_finished", tasks.c.finished_at)
Index("tasks_updated", tasks.c.updated_at, tasks.c.number)
Index("tasks_start", tasks.c.start_at, **only_where(tasks.c.start_at.is_not(None)))
Index("tasks_parent", tasks.c.parent, tasks.c.number, **only_where(tasks.c.parent.is_not(None)))
Index("tasks_open_children", tasks.c.parent, **only_where(UNFINISHED))
Index("subtasks_task", subtasks.c.task)
Index("subtasks_child", subtasks.c.child)
Index("task_tags_task", task_tags.c.task)
# PostgreSQL updates every index of a changed row, SQLite only those whose columns changed. So PostgreSQL counts with
# `items_order` and claims with `items_open`; SQLite, whose indexes all end with the row's id, uses `items_progress` for both.
Index("items_order", items.c.task, items.c.stage, items.c.seq, unique=True, **covering("state"))
Index("items_key", items.c.task, items.c.stage, items.c.key, unique=True, **only_where(KEYED))
if_indexes_end_with_id(Index("items_progress", items.c.task, items.c.stage, items.c.state), True)
if_indexes_end_with_id(
    Index("items_open", items.c.task, items.c.stage, items.c.state, items.c.id, **only_where(OPEN)), False
)
Index("items_timed", items.c.available_at, items.c.task, **only_where(TIMED))
Index("items_degraded", items.c.task, items.c.stage, **only_where(DEGRADED))
Index("items_running", items.c.worker, items.c.deadline_at, **only_where(RUNNING))
Index("reset_items_task", reset_items.c.task, reset_items.c.item)
Index("externals_task", externals.c.task)
Index("externals_wake", externals.c.wake, **only_where(externals.c.wake.is_not(None)))
Index("attempts_item", attempts.c.item)
Index("attempts_task", attempts.c.task)
Index("events_task", events.c.task, events.c.id)
Index("decisions_part", decisions.c.task, decisions.c.stage, decisions.c.item, decisions.c.part, decisions.c.number)
Index("emissions_task", emissions.c.task, emissions.c.item, emissions.c.position)
Index("blobs_task", blobs.c.task)
Index("permits_name", permits.c.name)
Index("answers_age", answers.c.answered_at)
Index("calls_task", calls.c.task)
Index("calls_item", calls.c.item)
Index("calls_answer", calls.c.answer)
Index("batches_open", batches.c.look_at, **only_where(OPEN_BATCH))
Index("batch_members_item", batch_members.c.item, batch_members.c.key, unique=True)
Index("batch_members_key", batch_members.c.key)
Index("batch_members_sent", batch_members.c.key, unique=True, **only_where(SENT))
Index("batch_members_batch", batch_members.c.batch)
Index("batch_members_task", batch_members.c.task)
Index("batch_members_collected", batch_members.c.provider, batch_members.c.model, **only_where(COLLECTED))
Index("template_uses_name", template_uses.c.kind, template_uses.c.name, template_uses.c.task)
