"""Sums of the ledger, one row for each task, model, day or owner."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from fanfold.model.lifecycle import ItemState
from fanfold.model.money.batch import BATCH
from fanfold.model.money.costs import CostRow
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.rows.money.answers import AGAIN, ASKED, CACHED, FALLBACK, NO_ANSWER, OUTCOMES, OWN, RETRY, is_lost
from fanfold.store.schema.tables import calls, items, tasks

PAID = calls.c.outcome.not_in((CACHED, ASKED, NO_ANSWER))
NEWEST_TASKS, NEWEST_ITEMS = 20, 500
"""Most tasks and items that an estimate reads."""
OVER = items.c.state.in_([ItemState.DONE.value, ItemState.FAILED.value])
BAD = sa.and_(calls.c.provider != OWN, calls.c.outcome.not_in(OUTCOMES))
"""Rejected answers. What handlers report has the outcome of their attempt, which may have been paused or have lost its lease."""


@dataclass(frozen=True)
class ItemCost:
    """What one item has cost; None if the price of a call is unknown."""

    calls: int
    cost: float | None
    input_tokens: int
    output_tokens: int
    batched: float = 0.0
    """The part of the cost that is for questions in batches."""
    stage: str = ""


class CostSums:
    """Sums over the ledger, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def by(
        self,
        group: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        owner: str | None = None,
        limit: int | None = None,
    ) -> list[CostRow]:
        """What was spent, summed by ``group``: days in order, any other group by cost, highest first."""
        name = self._name(group)
        summed = sa.select(name.label("name"), *_sums()).join(tasks, tasks.c.number == calls.c.task).group_by(name)
        for condition in (
            None if since is None else calls.c.at >= since,
            None if until is None else calls.c.at < until,
            None if owner is None else tasks.c.owner == owner,
        ):
            if condition is not None:
                summed = summed.where(condition)
        order = name if group == "day" else sa.desc("cost")
        return [_row(found) for found in self.connection.execute(summed.order_by(order, name).limit(limit))]

    def of_task(self, task: int) -> list[ItemCost]:
        """What each item of a task that is over has paid, in all of its attempts."""
        over = sa.and_(calls.c.task == task, OVER)
        each = _each_item().add_columns(items.c.stage).group_by(items.c.stage)
        return self._items(each.join(items, items.c.id == calls.c.item).where(over))

    def asking_items(self, task: int, stage: str) -> int:
        """How many items of a stage that are over have asked a model, or would have without the cache."""
        over = sa.and_(calls.c.task == task, items.c.stage == stage, OVER)
        asked = sa.select(sa.func.count(calls.c.item.distinct())).join(items, items.c.id == calls.c.item).where(over)
        return int(self.connection.execute(asked).scalar_one())

    def of_stage(self, task: int, stage: str) -> tuple[float, float]:
        """What the items of a stage have cost: those that are over, and those that are not."""
        summed = sa.select(_cost_of(OVER), _cost_of(sa.not_(OVER))).select_from(calls)
        mine = sa.and_(calls.c.task == task, items.c.stage == stage)
        ended, begun = self.connection.execute(summed.join(items, items.c.id == calls.c.item).where(mine)).one()
        return float(ended), float(begun)

    def of_items(self, pipeline: str, provider: str, model: str) -> list[ItemCost]:
        """What each of the newest items that asked a model has paid, in the newest tasks of a pipeline."""
        newest = sa.select(tasks.c.number).where(tasks.c.pipeline == pipeline)
        numbers = list(self.connection.execute(newest.order_by(tasks.c.number.desc()).limit(NEWEST_TASKS)).scalars())
        asked = sa.and_(calls.c.provider == provider, calls.c.model == model[:200])
        wanted = _each_item().where(calls.c.task.in_(numbers)).having(sa.func.sum(sa.case((asked, 1), else_=0)) > 0)
        return self._items(wanted.order_by(sa.func.max(calls.c.id).desc()).limit(NEWEST_ITEMS))

    def _items(self, wanted: sa.Select[Any]) -> list[ItemCost]:
        return [
            ItemCost(
                int(row.calls),
                None if row.unpriced else float(row.cost),
                int(row.asked),
                int(row.answered),
                float(row.batched),
                getattr(row, "stage", ""),
            )
            for row in self.connection.execute(wanted)
        ]

    def _name(self, group: str) -> sa.ColumnElement[str]:
        names: dict[str, sa.ColumnElement[str]] = {
            "task": tasks.c.id,
            "model": calls.c.provider + sa.literal_column("':'", sa.Text()) + calls.c.model,
            "day": self.clock.dialect.day(calls.c.at),
            "owner": tasks.c.owner,
            "provider": calls.c.provider,
            "pipeline": tasks.c.pipeline,
        }
        return names[group]


def _each_item() -> sa.Select[Any]:
    """Paid calls, summed by item."""
    return (
        sa.select(
            sa.func.count().label("calls"),
            sa.func.sum(sa.case((calls.c.cost.is_(None), 1), else_=0)).label("unpriced"),
            sa.func.coalesce(sa.func.sum(calls.c.cost), 0.0).label("cost"),
            _cost_of(calls.c.lane == BATCH).label("batched"),
            sa.func.coalesce(sa.func.sum(calls.c.input_tokens), 0).label("asked"),
            sa.func.coalesce(sa.func.sum(calls.c.output_tokens), 0).label("answered"),
        )
        .select_from(calls)
        .where(PAID)
        .group_by(calls.c.item)
    )


def _sums() -> list[sa.ColumnElement[Any]]:
    counted = {
        "calls": PAID,
        "unpriced": sa.and_(PAID, calls.c.cost.is_(None)),
        "possibly_paid": is_lost(),
        "cached": calls.c.outcome == CACHED,
    }
    priced = {
        "cost": sa.true(),
        "fallbacks": calls.c.purpose == FALLBACK,
        "retries": calls.c.purpose.in_((RETRY, AGAIN)),
        "bad_answers": BAD,
    }
    tokens = ("input_tokens", "output_tokens", "cached_tokens")
    return [
        *(sa.func.sum(sa.case((which, 1), else_=0)).label(name) for name, which in counted.items()),
        *(sa.func.coalesce(sa.func.sum(calls.c[name]), 0).label(name) for name in tokens),
        *(_cost_of(which).label(name) for name, which in priced.items()),
    ]


def _cost_of(which: sa.ColumnElement[bool]) -> sa.ColumnElement[Any]:
    return sa.func.coalesce(sa.func.sum(sa.case((which, calls.c.cost))), 0.0)


def _row(found: Any) -> CostRow:
    costs = ("cost", "fallbacks", "retries", "bad_answers")
    values: dict[str, Any] = {
        name: float(value) if name in costs else int(value) for name, value in found._mapping.items() if name != "name"
    }
    return CostRow(found.name, **values)
