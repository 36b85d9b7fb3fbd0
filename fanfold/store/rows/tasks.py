"""Verbs on the rows of tasks: add, find, lock, move and list."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from fanfold.errors import Ambiguous, KeyTaken, NotFound
from fanfold.model.lifecycle import FINISHED_TASKS, ItemState, TaskState
from fanfold.model.plan import Plan
from fanfold.model.task import TaskOrder, TaskRow
from fanfold.model.text.sentences import kept, restored, say
from fanfold.model.text.texts import is_storable
from fanfold.model.words import PATIENCE_SECONDS
from fanfold.store.dialects.dialect import Dialect
from fanfold.store.dialects.sql_clock import SqlClock, UtcTime
from fanfold.store.schema.statements import changed_by, fetch, fetch_first, fetch_value, run
from fanfold.store.schema.tables import ACTIVE, HELD, TIMED, UNACCEPTED, item_data, items, task_tags, tasks

TAGGED = sa.exists().where(task_tags.c.task == tasks.c.number).label("tagged")
"""Whether a task has tags. Few have, and a second query reads them."""
ONE = sa.select(tasks, TAGGED)
BY_NUMBER = ONE.where(tasks.c.number == sa.bindparam("wanted"))
BY_ID = ONE.where(tasks.c.id == sa.bindparam("wanted"))
BY_KEY = ONE.where(tasks.c.owner == sa.bindparam("wanted_owner"), tasks.c.key == sa.bindparam("wanted_key"))
COLUMNS = (*(column.name for column in tasks.c), "tagged")
"""Names of the values of ``ONE``, in order."""
BY_NUMBER_LOCKED = BY_NUMBER.with_for_update(key_share=True, of=tasks)
SAMPLED = sa.select(tasks.c.number).where(tasks.c.number == sa.bindparam("wanted"), tasks.c.sample.is_not(None))
TAGS_OF = (
    sa.select(task_tags.c.task, task_tags.c.tag)
    .where(task_tags.c.task.in_(sa.bindparam("numbers", expanding=True)))
    .order_by(task_tags.c.tag)
)
TAGS_OF_ONE = sa.select(task_tags.c.tag).where(task_tags.c.task == sa.bindparam("wanted")).order_by(task_tags.c.tag)
"""Built once, like all statements that run on every turn: building one costs more than running it."""

SENTENCES = {"reason": "reason_sentence", "error_message": "error_sentence"}
"""Columns with sentences → columns with their codes and parameters."""


LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Filter:
    """Which tasks to list; empty fields do not restrict."""

    states: tuple[str, ...] = ()
    pipeline: str | None = None
    owner: str | None = None
    tag: str | None = None
    text: str | None = None
    after: int | None = None
    limit: int = 50
    needs_you: bool = False
    order: TaskOrder = TaskOrder.NEWEST
    after_updated_at: datetime | None = None
    """When the last task of the previous page was updated. Needed in that order, where the number alone is not a position."""
    parent: int | None = None
    """Only the subtasks of the task with this number."""
    without: tuple[str, ...] = ()
    """Pipelines whose tasks are left out."""


ORDERS: dict[TaskOrder, tuple[sa.ColumnElement[Any], ...]] = {
    TaskOrder.NEWEST: (tasks.c.number.desc(),),
    TaskOrder.OLDEST: (tasks.c.number.asc(),),
    TaskOrder.UPDATED: (tasks.c.updated_at.desc(), tasks.c.number.desc()),
}


class Tasks:
    """Verbs on tasks, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, row: Mapping[str, Any], tags: Sequence[str]) -> int:
        """Store a new task; returns its number. KeyTaken if its idempotency key already has a task."""
        try:
            number = int(fetch_value(self.connection, _add_statement(self.clock, tuple(row)), _new(row)))
        except sa.exc.IntegrityError as error:
            raise KeyTaken(say("key_taken", key=row.get("key"))) from error
        if tags:
            self.connection.execute(sa.insert(task_tags), [{"tag": tag, "task": number} for tag in dict.fromkeys(tags)])
        return number

    def reserve_number(self) -> int:
        """Reserve a unique task number, for items that are written before their task."""
        return self.clock.dialect.reserve_number(self.connection, tasks.c.number)

    def by_key(self, owner: str, key: str) -> TaskRow | None:
        """The task with this idempotency key."""
        if not is_storable(owner + key):
            return None
        return self._one(BY_KEY, {"wanted_owner": owner, "wanted_key": key})

    def by_keys(self, owner: str, keys: Sequence[str]) -> dict[str, TaskRow]:
        """The tasks with these idempotency keys."""
        found = sa.select(tasks).where(tasks.c.owner == owner, tasks.c.key.in_(keys))
        rows = list(self.connection.execute(found))
        tags = self._tags([row.number for row in rows]) if rows else {}
        return {row.key: self._task(row, tags.get(row.number, ())) for row in rows}

    def states(self, numbers: Sequence[int]) -> dict[int, TaskState]:
        """The states of the tasks with these numbers."""
        found = run(self.connection, _states_statement(self.clock.dialect), {"ids": list(numbers)})
        return {number: TaskState(state) for number, state in found}

    def by_numbers(self, numbers: Sequence[int]) -> dict[int, TaskRow]:
        """The tasks with these numbers."""
        rows = fetch(self.connection, _by_numbers_statement(self.clock.dialect), {"ids": list(numbers)})
        return {row[0]: self._task(row) for row in rows}

    def get(self, number: int) -> TaskRow | None:
        """The task with this number."""
        return self._one(BY_NUMBER, {"wanted": number})

    def lock(self, number: int) -> TaskRow | None:
        """The task, with its row locked until the transaction ends (SQLite locks the whole database)."""
        return self._one(BY_NUMBER_LOCKED, {"wanted": number})

    def owners_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """The owners of tasks, without tasks that were deleted."""
        found = sa.select(tasks.c.number, tasks.c.owner).where(tasks.c.number.in_(list(numbers)))
        return {row.number: row.owner for row in self.connection.execute(found)}

    def has_sample(self, number: int) -> bool:
        """Whether only the first items of a task may be claimed now."""
        return bool(run(self.connection, SAMPLED, {"wanted": number}))

    def resolve(self, prefix: str, owner: str | None = None) -> TaskRow:
        """The task whose id is, or unambiguously begins with, ``prefix``; only ``owner``'s tasks if given."""
        wanted = prefix.strip().lower()
        wanted = wanted if wanted.startswith("t-") else f"t-{wanted}"
        may_be = len(wanted) > 2 and is_storable(wanted)
        if owner is None and may_be and (exactly := self._one(BY_ID, {"wanted": wanted})) is not None:
            return exactly
        found = ONE.where(tasks.c.id >= wanted, tasks.c.id < wanted + "~").order_by(tasks.c.id).limit(6)
        if owner is not None:
            found = found.where(tasks.c.owner == owner)
        rows = [self._task(row) for row in self.connection.execute(found)] if may_be else []
        exact = [row for row in rows if row.id == wanted]
        if len(rows) == 1 or exact:
            return (exact or rows)[0]
        if not rows:
            raise NotFound(say("no_task", task=prefix))
        raise Ambiguous(say("several_tasks", task=prefix, tasks=[row.id for row in rows]))

    def move(self, number: int, **values: Any) -> None:
        """Write a task's row. The caller holds its lock and has checked the table of moves."""
        if "state" in values:
            finished = values["state"] in FINISHED_TASKS
            values["finished_at"] = self.clock.now if finished else None
        values |= {name: kept(values[text]) for text, name in SENTENCES.items() if text in values}
        timed = tuple([name for name, value in values.items() if value is self.clock.now])
        given = {name: value for name, value in values.items() if name not in timed}
        moved = _move_statement(self.clock, tuple(sorted(given)), timed)
        changed_by(self.connection, moved, {"wanted": number, **_new(given)})

    def close(self, number: int) -> None:
        """Let nobody claim more items of a task. The caller holds its lock."""
        self.move(number, closed_at=self.clock.now)

    def drop_key(self, number: int) -> None:
        """Remove a task's idempotency key: the next submission with that key is a new task."""
        changed_by(self.connection, DROP_KEY, {"wanted": number})

    def find(self, wanted: Filter) -> list[TaskRow]:
        """Tasks in the wanted order; ``after`` is the number of the last task of the previous page."""
        named = (wanted.pipeline, wanted.owner, wanted.tag, wanted.text)
        if not all(is_storable(name) for name in named if name is not None):
            return []
        order = ORDERS[wanted.order]
        found = sa.select(tasks).where(*self._conditions(wanted)).order_by(*order).limit(wanted.limit)
        if len(wanted.states) > 1:
            # A page of each state, and of those a page. For an IN, SQLite sorts all tasks of these states.
            numbers = found.with_only_columns(tasks.c.number)
            pages = [numbers.where(*_is(state, wanted)).subquery() for state in wanted.states]
            either = sa.union_all(*(sa.select(page.c.number) for page in pages))
            found = sa.select(tasks).where(tasks.c.number.in_(either)).order_by(*order).limit(wanted.limit)
        for state in wanted.states if len(wanted.states) == 1 else ():
            found = found.where(*_is(state, wanted))
        rows = self.connection.execute(found).all()
        tags = self._tags([row.number for row in rows])
        return [self._task(row, tags.get(row.number, ())) for row in rows]

    def _conditions(self, wanted: Filter) -> Iterator[sa.ColumnElement[bool]]:
        """What a listed task must fulfil, apart from its state."""
        if wanted.pipeline is not None:
            yield tasks.c.pipeline == wanted.pipeline
        if wanted.without:
            yield tasks.c.pipeline.not_in(wanted.without)
        if wanted.owner is not None:
            yield tasks.c.owner == wanted.owner
        if wanted.tag is not None:
            yield tasks.c.number.in_(sa.select(task_tags.c.task).where(task_tags.c.tag == wanted.tag))
        if wanted.text:
            yield _has_text(wanted.text)
        if wanted.parent is not None:
            yield tasks.c.parent == wanted.parent
        if wanted.needs_you:
            yield self._needs_you()
        if wanted.after is not None:
            yield _behind(wanted)

    def _needs_you(self) -> sa.ColumnElement[bool]:
        """The tasks that ``words.needs_you`` reports."""
        rests = sa.and_(
            tasks.c.state.in_((TaskState.WAITING, TaskState.PAUSED, TaskState.PARTIAL)), tasks.c.start_at.is_(None)
        )
        here = sa.and_(items.c.task == tasks.c.number, items.c.stage == tasks.c.stage)
        long_ago = item_data.c.troubled_since <= self.clock.before(PATIENCE_SECONDS)
        stuck = sa.and_(items.c.state == ItemState.RETRYING, long_ago)
        joined = sa.select(items.c.id).outerjoin(item_data, item_data.c.item == items.c.id)
        # Start from the marked items, which are few, not from the completed tasks.
        marked = sa.and_(
            tasks.c.state == TaskState.COMPLETED, tasks.c.number.in_(sa.select(items.c.task).where(UNACCEPTED))
        )
        held = sa.and_(ACTIVE, joined.where(here, TIMED, sa.or_(HELD, stuck)).correlate(tasks).exists())
        refused = sa.and_(ACTIVE, tasks.c.reason.is_not(None))
        # One query for each reason, with an index each. For an OR, PostgreSQL walks over all tasks: 4.3 s beside a million.
        needing = [sa.select(tasks.c.number).where(why).correlate(None) for why in (rests, marked, held, refused)]
        return tasks.c.number.in_(sa.union_all(*needing))

    def count_needing(self, owner: str | None = None) -> int:
        """How many tasks, or tasks of an owner, need a person."""
        counted = sa.select(sa.func.count()).select_from(tasks).where(self._needs_you())
        if owner is not None:
            counted = counted.where(tasks.c.owner == owner)
        return int(self.connection.execute(counted).scalar_one())

    def count_by_state(self, owner: str | None = None) -> dict[str, int]:
        """How many tasks, or tasks of an owner, are in each state."""
        counted = sa.select(tasks.c.state, sa.func.count()).group_by(tasks.c.state)
        if owner is not None:
            counted = counted.where(tasks.c.owner == owner)
        return {row[0]: row[1] for row in self.connection.execute(counted)}

    def tags(self, owner: str | None = None, limit: int = 200) -> list[str]:
        """The tags in use, by name."""
        found = sa.select(task_tags.c.tag).distinct().order_by(task_tags.c.tag).limit(limit)
        if owner is not None:
            found = found.join(tasks, tasks.c.number == task_tags.c.task).where(tasks.c.owner == owner)
        return list(self.connection.execute(found).scalars())

    def owners(self, limit: int = 200) -> list[str]:
        """The owners of tasks, by name, without the empty owner."""
        found = sa.select(tasks.c.owner).distinct().where(tasks.c.owner != "").order_by(tasks.c.owner).limit(limit)
        return list(self.connection.execute(found).scalars())

    def by_ids(self, ids: Sequence[str]) -> list[TaskRow]:
        """The existing tasks with exactly these ids, newest first."""
        found = sa.select(tasks).where(tasks.c.id.in_(ids)).order_by(tasks.c.number.desc())
        rows = self.connection.execute(found).all()
        tags = self._tags([row.number for row in rows])
        return [self._task(row, tags.get(row.number, ())) for row in rows]

    def existing(self, ids: Collection[str]) -> set[str]:
        """The given ids that belong to a task."""
        return set(self.connection.execute(sa.select(tasks.c.id).where(tasks.c.id.in_(ids))).scalars())

    def finished_before(self, days: float, limit: int, skip: int = 0) -> list[TaskRow]:
        """Tasks that finished more than ``days`` ago, the oldest first, without the first ``skip``.

        Subtasks are not among them: they are removed with their parent, which may still need their results.
        """
        old = sa.select(tasks).where(
            tasks.c.state.in_(FINISHED_TASKS),
            tasks.c.finished_at < self.clock.before(days * 86400.0),
            tasks.c.parent.is_(None),
        )
        found = old.order_by(tasks.c.finished_at, tasks.c.number).offset(skip).limit(limit)
        return [self._task(row, ()) for row in self.connection.execute(found)]

    def _one(self, found: sa.Select[Any], values: dict[str, Any]) -> TaskRow | None:
        row = fetch_first(self.connection, found, values)
        return None if row is None else self._task(row)

    def _tags(self, numbers: Sequence[int]) -> dict[int, tuple[str, ...]]:
        found: dict[int, tuple[str, ...]] = {}
        for task, tag in self.connection.execute(TAGS_OF, {"numbers": list(numbers)}):
            found[task] = (*found.get(task, ()), tag)
        return found

    def _task(self, row: Sequence[Any], tags: tuple[str, ...] | None = None) -> TaskRow:
        """The task of a row of ``ONE``; with ``tags``, the row may lack the last column."""
        values = dict(zip(COLUMNS, row, strict=False))
        if not values.pop("tagged", True):
            tags = ()
        for text, name in SENTENCES.items():
            values[text] = restored(values[text], values.pop(name))
        if tags is None:
            tags = tuple([tag for (tag,) in run(self.connection, TAGS_OF_ONE, {"wanted": values["number"]})])
        values["state"], values["plan"], values["tags"] = TaskState(values["state"]), _plan(values["plan"]), tags
        return TaskRow(**values)


_plan = lru_cache(maxsize=1_000)(Plan.from_json)
"""Tasks of a pipeline have the same plan, which never changes once it is read."""
DROP_KEY = sa.update(tasks).where(tasks.c.number == sa.bindparam("wanted")).values(key=sa.null())


def _new(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of columns as parameters. SQLAlchemy reserves the names of the columns themselves."""
    return {f"new_{name}": value for name, value in values.items()}


def _parameters(names: Iterable[str]) -> dict[str, Any]:
    return {name: sa.bindparam(f"new_{name}", type_=tasks.c[name].type) for name in names}


@lru_cache(maxsize=256)
def _add_statement(clock: SqlClock, names: tuple[str, ...]) -> sa.Executable:
    """Insert a task with values of these columns."""
    made = sa.insert(tasks).values(**_parameters(names), created_at=clock.now, updated_at=clock.now)
    return made.returning(tasks.c.number)


@lru_cache(maxsize=1_000)
def _move_statement(clock: SqlClock, names: tuple[str, ...], timed: tuple[str, ...]) -> sa.Executable:
    """Write these columns of a task, and the current time into those that are ``timed``."""
    now = dict.fromkeys((*timed, "updated_at"), clock.now)
    return sa.update(tasks).where(tasks.c.number == sa.bindparam("wanted")).values(**_parameters(names), **now)


@lru_cache(maxsize=4)
def _by_numbers_statement(dialect: Dialect) -> sa.Select[Any]:
    """The tasks with the numbers of the list ``ids``, in order."""
    return ONE.where(dialect.among(tasks.c.number)).order_by(tasks.c.number)


@lru_cache(maxsize=4)
def _states_statement(dialect: Dialect) -> sa.Select[Any]:
    return sa.select(tasks.c.number, tasks.c.state).where(dialect.among(tasks.c.number))


def _is(state: str, wanted: Filter) -> tuple[sa.ColumnElement[bool], ...]:
    """Only tasks in this state. What is always true lets SQLite use the partial index `tasks_state_updated`."""
    same = tasks.c.state == state
    narrower = (wanted.owner, wanted.tag, wanted.text, wanted.parent)
    if wanted.order is TaskOrder.UPDATED and all(one is None for one in narrower):
        return same, tasks.c.updated_at > LONG_AGO
    return (same,)


def _has_text(text: str) -> sa.ColumnElement[bool]:
    """Tasks with this text in their id, title, error or one of their tags."""
    told = (tasks.c.id, tasks.c.title, tasks.c.error_message)
    tagged = sa.exists().where(task_tags.c.task == tasks.c.number, task_tags.c.tag.icontains(text, autoescape=True))
    return sa.or_(*(column.icontains(text, autoescape=True) for column in told), tagged)


def _behind(wanted: Filter) -> sa.ColumnElement[bool]:
    """Tasks after the last one of the previous page, in the wanted order."""
    if wanted.order is TaskOrder.OLDEST:
        return tasks.c.number > wanted.after
    if wanted.order is TaskOrder.UPDATED:
        last = sa.tuple_(sa.literal(wanted.after_updated_at, UtcTime()), sa.literal(wanted.after, sa.BigInteger()))
        return sa.tuple_(tasks.c.updated_at, tasks.c.number) < last
    return tasks.c.number < wanted.after
