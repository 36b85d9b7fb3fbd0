"""Counts how often an item's process died, and decides when the item fails as poison.

A long-running item may be killed any number of times by people who restart workers. So crashes before the last real progress
are forgiven: progress at least 0.01 beyond any earlier attempt, or a memory larger than any earlier one. Both measures only
grow and are bounded (at most 100 steps of 0.01; memory counts for the first crashes only), so an item that kills its process
ends as poison whatever it reports.

`items.crashes` counts every crash, so an item lost twice stays suspect and runs in a child process.

An item claimed ahead of a slot, whose start was not noted yet, may never have begun: its loss is not counted. Such an item is
not claimed ahead again, so the next loss counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from fanfold.model.lifecycle import ItemState
from fanfold.store.dialects.dialect import Dialect
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.claim import MOST_ATTEMPTS
from fanfold.store.items.pending import HANDED_BACK
from fanfold.store.schema.tables import item_data, items, tasks

PROGRESS_STEP = 0.01
MEMORY_FORGIVES = 10
"""Crashes forgiven for growing memory alone."""


def _stage_limit(dialect: Dialect) -> sa.ColumnElement[int]:
    """The crash limit of the item's stage, read from the task's plan: the sweeping process may not have the pipeline's code."""
    planned = dialect.json_list(tasks.c.plan, "stages", "planned")
    limit = sa.cast(dialect.json_field(planned.c.value, "crash_limit"), sa.Integer)
    mine = sa.and_(tasks.c.number == items.c.task, dialect.json_field(planned.c.value, "name") == items.c.stage)
    return sa.select(limit).select_from(tasks, planned).where(mine).correlate(items).scalar_subquery()


def _got_further(crashes: sa.ColumnElement[int]) -> sa.ColumnElement[bool]:
    """Whether the attempt lost now got further than all earlier ones, of which ``crashes`` were lost."""
    progress = item_data.c.progress >= sa.func.coalesce(item_data.c.crash_progress, 0.0) + PROGRESS_STEP
    memory = sa.func.length(item_data.c.memory) > sa.func.coalesce(item_data.c.crash_memory, 0)
    return sa.or_(progress, sa.and_(memory, crashes < MEMORY_FORGIVES))


def counted(column: sa.Column[int], more: Any) -> sa.ColumnElement[int]:
    """A counter that stops at the largest value of its narrow column. An overflow would end the worker."""
    return sa.case((column < MOST_ATTEMPTS, column + more), else_=column)


@lru_cache(maxsize=16)
def crash_values(clock: SqlClock, limit: Any, *, began: bool = False) -> dict[str, Any]:
    """Values for items of a lost worker: pending again, or failed as poison at the limit. No retry is used up.

    ``began``: the handlers are known to have begun; otherwise the start time of each item says whether it did.
    """
    counts = sa.true() if began else items.c.started_at.is_not(None)
    known = sa.func.coalesce(item_data.c.forgiven_crashes, 0)
    forgiven = sa.select(sa.case((_got_further(items.c.crashes), items.c.crashes), else_=known))
    forgiven = forgiven.where(item_data.c.item == items.c.id).correlate(items)
    in_a_row = items.c.crashes + 1 - sa.func.coalesce(forgiven.scalar_subquery(), 0)
    poison = sa.and_(counts, in_a_row >= sa.func.coalesce(_stage_limit(clock.dialect), limit))
    return HANDED_BACK | {
        "state": sa.case((poison, ItemState.FAILED.value), else_=HANDED_BACK["state"]),
        "finished_at": sa.case((poison, clock.now), else_=sa.null()),
        "crashes": counted(items.c.crashes, sa.case((counts, 1), else_=0)),
    }


def note_crashes(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Record how far the lost items had got, in the transaction that reclaims them."""
    if not ids:
        return
    before = sa.select(items.c.crashes - 1).where(items.c.id == item_data.c.item).correlate(item_data).scalar_subquery()
    reported = sa.or_(item_data.c.progress.is_not(None), item_data.c.memory.is_not(None))
    values = {
        "forgiven_crashes": before,
        "crash_progress": sa.func.coalesce(item_data.c.progress, item_data.c.crash_progress),
        "crash_memory": sa.case(
            (
                sa.func.length(item_data.c.memory) > sa.func.coalesce(item_data.c.crash_memory, 0),
                sa.func.length(item_data.c.memory),
            ),
            else_=item_data.c.crash_memory,
        ),
    }
    for start in range(0, len(ids), 1_000):
        mine = item_data.c.item.in_(ids[start : start + 1_000])
        connection.execute(sa.update(item_data).where(mine, reported, _got_further(before)).values(values))
