"""Counts items by state, mark, model, position and time. Read-only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.lifecycle import ItemState
from fanfold.model.progress import Counts
from fanfold.store.dialects.dialect import Dialect
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.items.large.drafts import counts_at, counts_in_group, counts_of
from fanfold.store.items.large.reset_queue import STATE_NOW, counted_back, is_reset
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import ACCEPTED, ACTIVE, DEGRADED, OPEN, attempts, item_data, items, reset_items
from fanfold.store.schema.tables import tasks as task_table


class Marks(NamedTuple):
    """How many results are degraded, and how many of those were accepted."""

    degraded: int = 0
    accepted: int = 0


class Counting:
    """Counts of items, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def counts(self, tasks: Sequence[int]) -> dict[int, dict[str, Counts]]:
        """Per task and stage, how many items are in each state: one grouped query over one index."""
        if len(tasks) == 1:
            counted = run(self.connection, COUNTED_OF_ONE, {"wanted": tasks[0]})
        else:
            counted = run(self.connection, counted_statement(self.clock.dialect), {"ids": list(tasks)})
        found: dict[int, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for task, stage, state, count in counted:
            states = found[task][stage]
            states[state] = states.get(state, 0) + count
            if count < 0:  # A reset has made them pending, but their rows are not updated yet.
                states[ItemState.PENDING] = states.get(ItemState.PENDING, 0) - count
        return {
            task: {
                stage: Counts({state: count for state, count in states.items() if count})
                for stage, states in stages.items()
            }
            for task, stages in found.items()
        }

    def of_stage(self, task: int, stage: str, *, hidden: bool = False) -> Counts:
        """How many items of one stage are in each state; with ``hidden`` also if the stage is a draft."""
        statement = COUNTED_OF_DRAFT if hidden else COUNTED_OF_STAGE
        states: dict[str, int] = defaultdict(int)
        for *_, state, count in run(self.connection, statement, {"wanted": task, "at_stage": stage}):
            states[state] += count
            states[ItemState.PENDING] -= min(count, 0)
        return Counts({state: count for state, count in states.items() if count})

    def marks(self, tasks: Sequence[int]) -> dict[int, Marks]:
        """Degraded and accepted items per task, from an index that holds only degraded items."""
        if not tasks:
            return {}
        accepted = sa.func.sum(sa.case((ACCEPTED, 1), else_=0))
        counted = sa.select(items.c.task, sa.func.count(), accepted).where(
            DEGRADED, items.c.task.in_(tasks), ~is_reset()
        )
        found: dict[int, Marks] = {}
        for task, *counts in self.connection.execute(
            counted.group_by(items.c.task, items.c.stage).having(counts_in_group())
        ):
            found[task] = Marks(*(int(a) + int(b) for a, b in zip(found.get(task, Marks()), counts, strict=True)))
        return found

    def degraded_at(self, task: int, stage: str, width: int = 1) -> list[int]:
        """Positions of the degraded items of a stage; with ``width``, of the runs of that many items that contain one."""
        mine = sa.and_(items.c.task == task, items.c.stage == stage, counts_at(task, stage))
        marked = sa.select((items.c.seq - 1) // width).where(DEGRADED, mine, ~is_reset()).distinct()
        return [int(position) for position in self.connection.execute(marked).scalars()]

    def open_counts(self) -> dict[str, int]:
        """Open items of active tasks per state, over the whole installation."""
        counted = sa.select(items.c.state, sa.func.count()).join(task_table, task_table.c.number == items.c.task)
        wanted = counted.where(OPEN, ACTIVE, task_table.c.stage == items.c.stage)
        return {row[0]: row[1] for row in self.connection.execute(wanted.group_by(items.c.state))}

    def makers(self, task: int, stage: str) -> dict[str, int]:
        """Number of done items of a stage per model. Items without a model are left out."""
        counted = (
            sa.select(item_data.c.model, sa.func.count())
            .join(items, items.c.id == item_data.c.item)
            .where(items.c.task == task, items.c.stage == stage, items.c.state == ItemState.DONE)
            .where(item_data.c.model.is_not(None), counts_at(task, stage), ~is_reset())
            .group_by(item_data.c.model)
            .order_by(sa.func.count().desc())
        )
        return {row[0]: row[1] for row in self.connection.execute(counted)}

    def cells(self, task: int, stage: str, width: int = 1) -> list[tuple[int, str, int]]:
        """(position, state, count) for each item of a stage, or for each state in each run of ``width`` items, in order."""
        mine = sa.and_(items.c.task == task, items.c.stage == stage, counts_at(task, stage))
        if width == 1:
            plain = sa.select(items.c.seq, STATE_NOW.label("state")).where(mine)
            return [(row.seq - 1, row.state, 1) for row in self.connection.execute(plain.order_by(items.c.seq))]
        run = ((items.c.seq - 1) // width).label("run")
        state = STATE_NOW.label("state_now")
        counted = sa.select(run, state, sa.func.count()).where(mine)
        rows = self.connection.execute(counted.group_by(run, state).order_by(run))
        return [(int(position), state, count) for position, state, count in rows]

    def pace(self, task: int, seconds: float) -> list[tuple[int, str | None, str, int]]:
        """(span, worker, state, count) of settled items: span 0 is the last ``seconds``, span 1 the ones before, and so on."""
        ago = sa.cast(sa.func.floor(self.clock.seconds_since(items.c.finished_at) / seconds), sa.Integer).label("ago")
        # The worker is in the item's row if it finished (older versions: with its output), in the attempt if it failed.
        last = sa.and_(attempts.c.item == items.c.id, attempts.c.lease == items.c.lease)
        failed = items.c.state == ItemState.FAILED
        worker = sa.case(
            (failed, attempts.c.worker), else_=sa.func.coalesce(items.c.settled_by, item_data.c.made_by)
        ).label("by_whom")
        counted = (
            sa.select(ago, worker, items.c.state, sa.func.count())
            .outerjoin(item_data, item_data.c.item == items.c.id)
            .outerjoin(attempts, sa.and_(failed, last))
            .where(items.c.task == task, items.c.finished_at.is_not(None), counts_of(task), ~is_reset())
            .group_by(ago, worker, items.c.state)
        )
        return [(int(span), who, state, many) for span, who, state, many in self.connection.execute(counted)]


def _counted(
    mine: Callable[[sa.Column[Any]], sa.ColumnElement[bool]], *of_stage: sa.ColumnElement[bool], hidden: bool = False
) -> sa.CompoundSelect[Any]:
    """Items per state. One statement, so that the counts are consistent."""
    plain = sa.select(items.c.task, items.c.stage, items.c.state, sa.func.count())
    plain = plain.group_by(items.c.task, items.c.stage, items.c.state).where(mine(items.c.task), *of_stage)
    parts = (plain, counted_back().where(mine(reset_items.c.task), *of_stage))
    return sa.union_all(*(part if hidden else part.having(counts_in_group()) for part in parts))


def _is_wanted(task: sa.Column[Any]) -> sa.ColumnElement[bool]:
    return task == sa.bindparam("wanted")


@lru_cache(maxsize=4)
def counted_statement(dialect: Dialect) -> sa.CompoundSelect[Any]:
    """Items per state of many tasks."""
    return _counted(dialect.among)


_AT_STAGE = items.c.stage == sa.bindparam("at_stage")
COUNTED_OF_ONE = _counted(_is_wanted)
COUNTED_OF_STAGE = _counted(_is_wanted, _AT_STAGE)
COUNTED_OF_DRAFT = _counted(_is_wanted, _AT_STAGE, hidden=True)
