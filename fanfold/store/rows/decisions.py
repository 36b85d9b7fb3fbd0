"""Stores decisions about parts of results, reads them for a merge, and makes the merge due again after new decisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.decision import DecisionVerdict
from fanfold.model.item import HELD_FROM
from fanfold.model.lifecycle import ItemState
from fanfold.store.dialects.dialect import Dialect, Row
from fanfold.store.dialects.sql_clock import SqlClock, UtcTime
from fanfold.store.items.pending import FORGOTTEN, STARTED_OVER
from fanfold.store.items.reset import Resetting
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import decisions, in_states, item_data, items, tasks

NAMES = ("stage", "item", "part", "verdict", "value", "actor")
COLUMNS: dict[str, sa.types.TypeEngine[Any]] = {"number": sa.Integer()} | {name: sa.Text() for name in NAMES}
UNDO = DecisionVerdict.UNDO.value


class DecisionRow(NamedTuple):
    """A decision as stored; its value is JSON text."""

    number: int
    stage: str
    item: str
    part: str
    verdict: str
    value: str | None
    actor: str
    at: datetime


class DecisionFilter(NamedTuple):
    """Which decisions of a task to list; None does not restrict."""

    stage: str | None = None
    item: str | None = None
    part: str | None = None
    verdict: str | None = None
    history: bool = False
    """Include decisions that were undone or replaced by later ones."""


SHOWN = tuple(decisions.c[name] for name in DecisionRow._fields)


class Decisions:
    """Verbs on decisions, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, task: int, before: int, rows: Sequence[Row]) -> int:
        """Store decisions after the first ``before`` ones of a task, whose lock is held; returns the number of the last."""
        numbered = [{"number": number, **row} for number, row in enumerate(rows, before + 1)]
        run(self.connection, add_statement(self.clock), {"of": task, "rows": numbered})
        last = before + len(rows)
        self.connection.execute(sa.update(tasks).where(tasks.c.number == task).values(decided=last))
        return last

    def latest(self, task: int, stage: str, keys: Sequence[str]) -> dict[str, dict[str, DecisionRow]]:
        """The effective decisions about these items of a stage, by item and part, without undone ones."""
        if not keys or not self._exist(task, stage):
            return {}
        sent = {"of": task, "at_stage": stage, "rows": [{"item": key} for key in keys]}
        found: dict[str, dict[str, DecisionRow]] = defaultdict(dict)
        for row in map(self._row, run(self.connection, latest_statement(self.clock.dialect), sent)):
            found[row.item][row.part] = row
        return found

    def newest(self, task: int, stage: str) -> dict[str, int]:
        """The number of the newest decision about each item of a stage that has any, including undone ones."""
        return dict(run(self.connection, NEWEST, {"of": task, "at_stage": stage}))

    def _exist(self, task: int, stage: str) -> bool:
        return bool(run(self.connection, ANY_DECISION, {"of": task, "at_stage": stage}))

    def standing(self, task: int, parts: Sequence[tuple[str, str, str]]) -> dict[tuple[str, str, str], DecisionRow]:
        """The latest decision about each of these (stage, item, part), including undone ones."""
        sent = {"of": task, "rows": [{"stage": stage, "item": item, "part": part} for stage, item, part in set(parts)]}
        rows = map(self._row, run(self.connection, standing_statement(self.clock.dialect), sent))
        return {(row.stage, row.item, row.part): row for row in rows}

    def page(self, task: int, wanted: DecisionFilter, after: int, limit: int) -> list[DecisionRow]:
        """Decisions of a task with a number above ``after``, in order."""
        # Only later decisions replace one, so decisions before the page need not be read.
        about = [decisions.c.task == task, decisions.c.number > after]
        for name in ("stage", "item", "part"):
            if (value := getattr(wanted, name)) is not None:
                about.append(decisions.c[name] == value)
        if wanted.history:
            rows: Any = decisions
            found = sa.select(*SHOWN).where(*about).order_by(decisions.c.number)
        else:
            rows = latest_of(*about)
            found = first_ranked(rows).where(rows.c.verdict != UNDO)
        if wanted.verdict is not None:
            found = found.where(rows.c.verdict == wanted.verdict)
        return [DecisionRow(*row) for row in self.connection.execute(found.limit(limit))]

    def before_merge(self, item: int) -> tuple[int | None, int | None, bool]:
        """For a merge's item: the last decision of its task, the one recorded for it, and whether it continues an attempt.

        An attempt that continues from an earlier attempt's memory or external job builds on the decisions that one has read.
        """
        [row] = run(self.connection, BEFORE_MERGE, {"of": item}) or [(None, None, None, None)]
        return row[0], row[1], row[2] is not None or row[3] is not None

    def seen(self, task: int, merge: str) -> int:
        """The last decision that a merge started with; 0 if none."""
        mine = sa.select(item_data.c.decided).join(items, items.c.id == item_data.c.item)
        found = self.connection.execute(mine.where(items.c.task == task, items.c.stage == merge)).scalar()
        return int(found or 0)

    def seconds_since(self, task: int, seen: int) -> tuple[float, float]:
        """Seconds since the first decision after ``seen``, and since the last; never negative."""
        newer = sa.select(self.clock.seconds_since(decisions.c.at)).where(
            decisions.c.task == task, decisions.c.number > seen
        )
        ages = [
            self.connection.execute(newer.order_by(order).limit(1)).scalar() or 0.0
            for order in (decisions.c.number, decisions.c.number.desc())
        ]
        return max(0.0, float(ages[0])), max(0.0, float(ages[1]))

    def reopen(self, task: int, merge: str, seconds: float) -> bool:
        """done → waiting for the one item of a merge, due in ``seconds``; False if it is not done.

        It gets a new generation, so external jobs that it starts have a new key.
        """
        mine = sa.and_(items.c.task == task, items.c.stage == merge, in_states((ItemState.DONE,)))
        found = list(self.connection.execute(sa.select(items.c.id).where(mine)).scalars())
        if not found:
            return False
        chosen = items.c.id.in_(found)
        Resetting(self.connection, self.clock).count_generation(chosen)
        values = STARTED_OVER | {"state": ItemState.WAITING.value, "available_at": self.clock.after(seconds)}
        self.connection.execute(sa.update(items).where(chosen, in_states((ItemState.DONE,))).values(values))
        self.connection.execute(sa.update(item_data).where(item_data.c.item.in_(found)).values(FORGOTTEN))
        return True

    def put_off(self, task: int, merge: str, seconds: float) -> None:
        """Set when a merge that waits for decisions is due. No effect if it waits for an external job or a person."""
        mine = sa.and_(items.c.task == task, items.c.stage == merge, waits_for_decisions())
        self.connection.execute(sa.update(items).where(mine).values(available_at=self.clock.after(seconds)))

    def is_gathering(self, task: int, merge: str) -> bool:
        """Whether a merge waits for more decisions."""
        mine = sa.select(items.c.id).where(items.c.task == task, items.c.stage == merge, waits_for_decisions())
        return self.connection.execute(mine.limit(1)).first() is not None

    def _row(self, row: tuple[Any, ...]) -> DecisionRow:
        at = UTC_TIME.process_result_value(row[-1], self.connection.dialect)
        return DecisionRow._make((*row[:-1], at))


UTC_TIME = UtcTime()
NEWEST = (
    sa.select(decisions.c.item, sa.func.max(decisions.c.number))
    .where(decisions.c.task == sa.bindparam("of"), decisions.c.stage == sa.bindparam("at_stage"))
    .group_by(decisions.c.item)
)

ANY_DECISION = (
    sa.select(decisions.c.number)
    .where(decisions.c.task == sa.bindparam("of"), decisions.c.stage == sa.bindparam("at_stage"))
    .limit(1)
)
BEFORE_MERGE = (
    sa.select(tasks.c.decided, item_data.c.decided, item_data.c.memory, item_data.c.waiting_since)
    .select_from(items)
    .join(tasks, tasks.c.number == items.c.task)
    .outerjoin(item_data, item_data.c.item == items.c.id)
    .where(items.c.id == sa.bindparam("of"))
)


def waits_for_decisions() -> sa.ColumnElement[bool]:
    """The item waits, but neither for a person nor for an external job (which would set `waiting_since`)."""
    external = sa.select(item_data.c.item).where(item_data.c.item == items.c.id, item_data.c.waiting_since.is_not(None))
    soon = items.c.available_at < sa.literal(HELD_FROM, UtcTime)
    return sa.and_(in_states((ItemState.WAITING,)), soon, ~external.exists())


def latest_of(*chosen: sa.ColumnElement[bool]) -> sa.Subquery:
    """The latest of the chosen decisions about each part. They must include every decision about their parts.

    One pass over them: with a subquery for a later decision, PostgreSQL without statistics compares all with all.
    """
    part = (decisions.c.stage, decisions.c.item, decisions.c.part)
    rank = sa.func.row_number().over(partition_by=part, order_by=decisions.c.number.desc()).label("rank")
    return sa.select(*SHOWN, rank).where(*chosen).subquery("ranked")


def first_ranked(ranked: sa.Subquery) -> sa.Select[Any]:
    """The latest decisions, in order."""
    return (
        sa.select(*(ranked.c[name] for name in DecisionRow._fields)).where(ranked.c.rank == 1).order_by(ranked.c.number)
    )


@lru_cache(maxsize=16)
def add_statement(clock: SqlClock) -> sa.Insert:
    """Insert many decisions in one statement."""
    batch = clock.dialect.unfolded(COLUMNS)
    task = sa.bindparam("of", type_=sa.BigInteger)
    return sa.insert(decisions).from_select(["task", "at", *COLUMNS], sa.select(task, clock.now, *batch.c))


@lru_cache(maxsize=4)
def latest_statement(dialect: Dialect) -> sa.Select[Any]:
    """The effective decisions about many items of a stage.

    Not a join, because SQLite would scan the list of items once for each decision of the stage.
    """
    batch = dialect.unfolded({"item": sa.Text()})
    ranked = latest_of(
        decisions.c.task == sa.bindparam("of", type_=sa.BigInteger),
        decisions.c.stage == sa.bindparam("at_stage", type_=sa.Text),
        decisions.c.item.in_(sa.select(batch.c.item)),
    )
    return first_ranked(ranked).where(ranked.c.verdict != UNDO)


@lru_cache(maxsize=4)
def standing_statement(dialect: Dialect) -> sa.Select[Any]:
    """The latest decisions about many parts."""
    names = ("stage", "item", "part")
    batch = dialect.unfolded({name: sa.Text() for name in names})
    mine = sa.tuple_(*(decisions.c[name] for name in names)).in_(sa.select(*(batch.c[name] for name in names)))
    return first_ranked(latest_of(decisions.c.task == sa.bindparam("of", type_=sa.BigInteger), mine))
