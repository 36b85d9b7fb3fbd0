"""Finds active tasks of the served stages that have an item to claim.

The cost of a search must not depend on how many tasks wait. A busy installation has thousands of active tasks with nothing to
claim: all their items run, back off, or wait for an external job. So tasks are read in pages, each page begins where the last
one ended, and every page is a bounded number of index probes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.lifecycle import ItemState
from fanfold.store.dialects.dialect import Dialect
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import ACTIVE, DUE_SOME_TIME, OPEN, TIMED, items, tasks

Pair = tuple[str, str]
"""A pipeline and one of its stages."""
STAGES_AT_ONCE = 50
"""Stages per query."""
CODES = 1_024
"""Factor that combines a task and the index of its stage in one number; larger than STAGES_AT_ONCE."""


class Ready(NamedTuple):
    """A task with items that a worker could claim now. A tuple, because these are hashed all the time."""

    task: int
    pipeline: str
    stage: str
    priority: int
    owner: str = ""


class Position(NamedTuple):
    """Where a walk over the tasks of a stage has got to: by priority, then by number."""

    priority: int
    number: int

    def is_before(self, ready: Ready) -> bool:
        """Whether the walk reaches this task after the position."""
        return (-self.priority, self.number) < (-ready.priority, ready.task)


TOP = Position(2**31 - 1, 0)


@dataclass
class Page:
    """The result of one page of the walk."""

    found: list[Ready] = field(default_factory=list)
    ends: dict[Pair, Position] = field(default_factory=dict)
    """Where to continue, for each stage with more tasks."""


class Ripe(NamedTuple):
    """The result of one page of timed items: tasks, and where to continue if there are more."""

    found: list[Ready]
    end: tuple[Any, int] | None


class Served:
    """The stages a worker serves."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self.pairs = tuple(sorted(set(pairs)))
        self.known = frozenset(self.pairs)


class Looking:
    """Queries for claimable work, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def walk(self, served: Served, starts: Mapping[Pair, Position], size: int, known: Iterable[Ready] = ()) -> Page:
        """Those of the next ``size`` active tasks of each stage in ``starts`` that have a pending item and are not ``known``."""
        page = Page()
        for first in range(0, len(served.pairs), STAGES_AT_ONCE):
            pairs = served.pairs[first : first + STAGES_AT_ONCE]
            if any(pair in starts for pair in pairs):
                self._walk(page, pairs, starts, size, known)
        return page

    def _walk(
        self, page: Page, pairs: tuple[Pair, ...], starts: Mapping[Pair, Position], size: int, known: Iterable[Ready]
    ) -> None:
        places = {pair: place for place, pair in enumerate(pairs)}
        values: dict[str, Any] = {
            "known": [
                ready.task * CODES + place
                for ready in known
                if (place := places.get((ready.pipeline, ready.stage))) is not None
            ]
        }
        for place, pair in enumerate(pairs):
            start = starts.get(pair)
            values[f"page_of_{place}"] = 0 if start is None else size
            values[f"from_priority_{place}"], values[f"from_number_{place}"] = start or TOP
            values[f"pipeline_{place}"], values[f"stage_{place}"] = pair
        for place, number, priority, owner, has_work, row in run(
            self.connection, walk_statement(self.clock.dialect, len(pairs)), values
        ):
            if has_work:
                pipeline, stage = pairs[place]
                page.found.append(Ready(number, pipeline, stage, priority, owner))
            if row == size:
                page.ends[pairs[place]] = Position(priority, number)

    def newest(self) -> int:
        """The highest task number."""
        return int(self.connection.execute(sa.select(sa.func.max(tasks.c.number))).scalar() or 0)

    def news(self, served: Served, newest: int, moved: Iterable[int], size: int) -> tuple[list[Ready], int]:
        """Tasks with a pending item that were submitted after ``newest`` or have ``moved``, and the new highest number."""
        values = {"newest": newest, "moved": list(moved), "size": size}
        found = []
        for number, pipeline, stage, priority, owner, has_work in run(
            self.connection, news_statement(self.clock.dialect), values
        ):
            newest = max(newest, number)
            if has_work and (pipeline, stage) in served.known:
                found.append(Ready(number, pipeline, stage, priority, owner))
        return found, newest

    def due(self, served: Served, size: int, after: tuple[Any, int] | None = None) -> Ripe:
        """Active tasks with a due item (back-off over, job to be polled), among the next ``size`` timed items."""
        moment, number = after or (self.clock.dialect.beginning, 0)
        values = {"size": size, "moment": moment, "number": number}
        found: list[Ready] = []
        end: tuple[Any, int] | None = None
        for task, pipeline, stage, priority, owner, latest, row in run(
            self.connection, due_statement(self.clock), values
        ):
            if (pipeline, stage) in served.known:
                found.append(Ready(task, pipeline, stage, priority, owner))
            if row == size:
                end = (latest, task)
        return Ripe(found, end)

    def seconds_to_next(self) -> float | None:
        """Seconds until the next timed item is due, or None if there is none."""
        [(found,)] = run(self.connection, next_statement(self.clock), {})
        return None if found is None else float(found)


def first_open(number: Any, stage: Any) -> sa.ColumnElement[str]:
    """The first open state of a task's items: `pending`, if there is one.

    `pending` sorts before the other open states. Ordered by state, PostgreSQL reads the first index entry. If asked for
    the first pending item, it reads all pending items, or all done ones.
    """
    first = sa.select(items.c.state).where(items.c.task == number, items.c.stage == stage, OPEN)
    return first.order_by(items.c.state).limit(1).scalar_subquery()


@lru_cache(maxsize=64)
def walk_statement(dialect: Dialect, stages: int) -> sa.Select[Any]:
    """One page for each of ``stages`` stages. Built once: building costs more than running. A page of size 0 costs nothing.

    Known tasks are not probed: to find the first pending item of a task in progress, PostgreSQL scans the dead index entries
    of all its earlier claims.
    """
    walked = sa.union_all(*map(_page, range(stages))).subquery("walked")
    is_known = (walked.c.number * CODES + walked.c.place).in_(dialect.listed("known"))
    has_work = sa.case((is_known, sa.false()), else_=_is_pending(first_open(walked.c.number, walked.c.stage)))
    probed = sa.select(walked, has_work.label("has_work")).subquery("probed")
    columns = (probed.c[name] for name in ("place", "number", "priority", "owner", "has_work", "row"))
    return sa.select(*columns).where(sa.or_(probed.c.has_work, probed.c.row == probed.c.size))


def _page(place: int) -> sa.Select[Any]:
    """The next tasks of one stage: the rest of the current priority, then lower priorities. Two index ranges."""
    size = sa.bindparam(f"page_of_{place}", type_=sa.Integer)
    priority = sa.bindparam(f"from_priority_{place}", type_=sa.Integer)
    number = sa.bindparam(f"from_number_{place}", type_=sa.BigInteger)
    pipeline, stage = (sa.bindparam(f"{name}_{place}", type_=sa.Text) for name in ("pipeline", "stage"))
    standing = sa.select(tasks.c.number, tasks.c.priority, tasks.c.owner).where(
        ACTIVE, tasks.c.pipeline == pipeline, tasks.c.stage == stage
    )
    order = (tasks.c.priority.desc(), tasks.c.number)
    level = standing.where(tasks.c.priority == priority, tasks.c.number > number).order_by(*order).limit(size)
    below = standing.where(tasks.c.priority < priority).order_by(*order).limit(size)
    both = sa.union_all(*(sa.select(part.subquery()) for part in (level, below))).subquery()
    in_order = (both.c.priority.desc(), both.c.number)
    return sa.select(
        sa.select(
            both,
            sa.literal_column(str(place)).label("place"),
            stage.label("stage"),
            size.label("size"),
            sa.func.row_number().over(order_by=in_order).label("row"),
        )
        .order_by(*in_order)
        .limit(size)
        .subquery()
    )


def _is_pending(state: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    return sa.func.coalesce(state == ItemState.PENDING.value, sa.false())


@lru_cache(maxsize=4)
def news_statement(dialect: Dialect) -> sa.CompoundSelect[Any]:
    """Tasks submitted since, and tasks that have moved, whatever their state."""
    has_work = sa.case((ACTIVE, _is_pending(first_open(tasks.c.number, tasks.c.stage))), else_=sa.false())
    columns = (tasks.c.number, tasks.c.pipeline, tasks.c.stage, tasks.c.priority, tasks.c.owner)
    news = sa.select(*columns, has_work.label("has_work"))
    submitted = news.where(tasks.c.number > sa.bindparam("newest", type_=sa.BigInteger)).order_by(tasks.c.number)
    moved = news.where(tasks.c.number.in_(dialect.listed("moved")))
    limited = submitted.limit(sa.bindparam("size", type_=sa.Integer)).subquery()
    return sa.union_all(sa.select(limited), moved)


@lru_cache(maxsize=64)
def due_statement(clock: SqlClock) -> sa.Select[Any]:
    """Tasks of the next due items, ordered by due time. Items of paused tasks are read but skipped."""
    moment = sa.bindparam("moment", type_=clock.dialect.time_type)
    position = sa.tuple_(moment, sa.bindparam("number", type_=sa.BigInteger))
    order = (items.c.available_at, items.c.task)
    passed = sa.tuple_(sa.type_coerce(items.c.available_at, moment.type), items.c.task) > position
    page = (
        sa.select(*order, items.c.stage)
        .where(TIMED, items.c.available_at <= clock.now, passed)
        .order_by(*order)
        .limit(sa.bindparam("size", type_=sa.Integer))
        .subquery("page")
    )
    row = sa.func.row_number().over(order_by=(page.c.available_at, page.c.task)).label("row")
    due = sa.select(page, row).subquery("due")
    mine = sa.and_(tasks.c.number == due.c.task, tasks.c.stage == due.c.stage, ACTIVE)
    task = (tasks.c.pipeline, tasks.c.stage, tasks.c.priority, tasks.c.owner)
    latest = sa.type_coerce(sa.func.max(due.c.available_at), moment.type)
    found = sa.select(due.c.task, *task, latest, sa.func.max(due.c.row)).select_from(due.outerjoin(tasks, mine))
    return found.group_by(due.c.task, *task)


@lru_cache(maxsize=64)
def next_statement(clock: SqlClock) -> sa.Select[Any]:
    """Seconds until the next item is due."""
    later = sa.select(items.c.available_at).where(DUE_SOME_TIME, items.c.available_at > clock.now)
    first = later.order_by(items.c.available_at).limit(1).scalar_subquery()
    return sa.select(-clock.seconds_since(first))
