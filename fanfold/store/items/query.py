"""What is there to see? Counts, ordered streams of results, and lists of items; nothing here writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.item import position_of
from fanfold.model.lifecycle import ItemState
from fanfold.model.progress import Counts
from fanfold.model.texts import is_storable
from fanfold.store.dialects.clock import Clock
from fanfold.store.items.drafts import counts_at, counts_in_group, counts_of
from fanfold.store.items.failed_attempts import Mishaps
from fanfold.store.items.reset_queue import REDO, counted_back, is_reset, reset_kind
from fanfold.store.statements import run
from fanfold.store.tables import (
    ACCEPTED,
    ACTIVE,
    DEGRADED,
    DUE_SOME_TIME,
    OPEN,
    attempts,
    emissions,
    item_data,
    items,
    reset_items,
)
from fanfold.store.tables import tasks as task_table

PAGE = 500
MANY = 2_000
AT_ONCE = 5_000
"""So many values stand in one statement."""


@dataclass(frozen=True, kw_only=True)
class ItemRow:
    """An item with its data, as kept; in a list, without what may be large."""

    id: int
    stage: str
    seq: int
    key: str
    state: str
    lease: int
    worker: str | None
    attempts: int
    failures: int
    crashes: int
    available_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    error_code: str | None
    error_message: str | None
    model: str | None
    usage: str | None
    progress: float
    message: str | None
    made_by: str | None
    degraded: str | None
    accepted: int | None
    hold: str | None
    input: str | None = None
    output: str | None = None
    error_detail: str | None = None
    options: str | None = None
    previous: str | None = None
    previous_model: str | None = None


class Marks(NamedTuple):
    """How many results are degraded, and how many of these somebody has accepted."""

    degraded: int = 0
    accepted: int = 0


class Kept(NamedTuple):
    """What is kept of an item, as a merge reads it; a tuple, as there are very many."""

    id: int
    seq: int
    key: str
    state: str
    input: str | None
    output: str | None
    error_code: str | None
    error_message: str | None
    model: str | None
    usage: str | None
    seconds: float | None
    degraded: str | None


class Piece(NamedTuple):
    """A piece of streamed output, and where it stands."""

    item: int
    lease: int
    position: int
    key: str
    body: str


class Reading(Mishaps):
    """Questions about items, inside one transaction."""

    def counts(self, tasks: Sequence[int]) -> dict[int, dict[str, Counts]]:
        """Per task and stage, how many items are in each state: one grouped query over one index."""
        if len(tasks) == 1:
            counted = run(self.connection, COUNTED_OF_ONE, {"wanted": tasks[0]})
        else:
            counted = [tuple(row) for row in self.connection.execute(_counted(lambda task: task.in_(tasks)))]
        found: dict[int, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for task, stage, state, count in counted:
            states = found[task][stage]
            states[state] = states.get(state, 0) + count
            if count < 0:  # A reset has put them back, but their rows do not say so yet.
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
        """Per task, how many items are degraded, and accepted, by an index that holds no others."""
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
        """The positions of the degraded items of a stage, or of the runs of ``width`` items that have one."""
        mine = sa.and_(items.c.task == task, items.c.stage == stage, counts_at(task, stage))
        marked = sa.select((items.c.seq - 1) // width).where(DEGRADED, mine, ~is_reset()).distinct()
        return [int(position) for position in self.connection.execute(marked).scalars()]

    def degraded_ids(self, task: int, stage: str) -> list[int]:
        """The degraded items of a stage."""
        mine = sa.and_(items.c.task == task, items.c.stage == stage, counts_at(task, stage))
        marked = sa.select(items.c.id).where(DEGRADED, mine).order_by(items.c.id)
        return list(self.connection.execute(marked).scalars())

    def existing(self, ids: Collection[str]) -> set[str]:
        """Those of the ids that a task has."""
        return set(self.connection.execute(sa.select(task_table.c.id).where(task_table.c.id.in_(ids))).scalars())

    def single(self, task: int, stage: str) -> tuple[float, str | None]:
        """How far the first running or latest item of a one-item stage says it is, and its message."""
        row = self.connection.execute(
            sa.select(item_data.c.progress, item_data.c.message)
            .join(items, items.c.id == item_data.c.item)
            .where(items.c.task == task, items.c.stage == stage, counts_at(task, stage))
            .order_by(items.c.seq)
            .limit(1)
        ).first()
        return (float(row.progress or 0.0), row.message) if row else (0.0, None)

    def next_due_at(self, task: int) -> datetime | None:
        """When the next item of a task falls due by itself."""
        mine = (items.c.task == task, DUE_SOME_TIME, counts_of(task), ~is_reset())
        due = sa.select(sa.func.min(items.c.available_at)).where(*mine)
        return self.connection.execute(due).scalar()

    def page(
        self,
        task: int,
        *,
        stage: str | None = None,
        states: Sequence[str] = (),
        after: int = 0,
        limit: int = PAGE,
        keys: Sequence[str] = (),
        degraded: bool | None = None,
        bodies: bool = True,
    ) -> list[ItemRow]:
        """Items with an id above ``after``, in order; without their ``bodies`` what may be large is not read."""
        wanted = _items(bodies).where(items.c.task == task, items.c.id > after).order_by(items.c.id).limit(limit)
        if stage is None:
            wanted = wanted.where(counts_of(task))
        else:
            wanted = wanted.where(items.c.stage == stage, counts_at(task, stage))
        if states:
            wanted = wanted.where(_in_states(states))
        if degraded is not None:
            marked = sa.and_(DEGRADED, ~is_reset())
            wanted = wanted.where(marked if degraded else ~marked)
        if keys:
            wanted = wanted.where(items.c.id.in_(self.ids(task, stage, keys)))
        return [_row(row) for row in self.connection.execute(wanted)]

    def results(self, task: int, stage: str, after: int, limit: int = PAGE, *, bodies: bool = True) -> list[ItemRow]:
        """Items of a stage with a position above ``after``, in order; ``bodies`` as for a page."""
        wanted = (
            _items(bodies)
            .where(items.c.task == task, items.c.stage == stage, items.c.seq > after, counts_at(task, stage))
            .order_by(items.c.seq)
            .limit(limit)
        )
        return [_row(row) for row in self.connection.execute(wanted)]

    def kept(self, task: int, stage: str, after: int, limit: int = MANY, *, failed: bool = False) -> list[Kept]:
        """What is kept of the items of a stage with a position above ``after``, in order; of all, or of those that failed."""
        values = {"wanted": task, "at_stage": stage, "after": after, "most": limit}
        return list(map(Kept._make, run(self.connection, kept_statement(self.clock, failed), values)))

    def degraded_before(self, task: int, stages: Sequence[str], rows: Sequence[Kept]) -> dict[int, list[str]]:
        """Why the items at the positions of these rows are degraded in earlier stages, in the order of the stages."""
        if not stages or not rows:
            return {}
        mine = sa.and_(items.c.task == task, items.c.stage.in_(stages), counts_of(task))
        here = items.c.seq.between(rows[0].seq, rows[-1].seq)
        marked = sa.select(items.c.seq, items.c.stage, items.c.degraded).where(DEGRADED, mine, here, ~is_reset())
        found: dict[int, list[str]] = defaultdict(list)
        for seq, _, reason in sorted(self.connection.execute(marked), key=lambda row: (row[0], stages.index(row[1]))):
            found[seq].append(reason)
        return found

    def ids(self, task: int, stage: str | None, keys: Sequence[str]) -> list[int]:
        """The items with these keys; an item without a key answers to its position."""
        found: set[int] = set()
        for start in range(0, len(keys), AT_ONCE):
            found |= self._ids(task, stage, keys[start : start + AT_ONCE])
        return sorted(found)

    def _ids(self, task: int, stage: str | None, keys: Sequence[str]) -> set[int]:
        keys = [key for key in keys if is_storable(key)]
        positions = [position for key in keys if (position := position_of(key)) is not None]
        wanted = sa.select(items.c.id).where(items.c.task == task)
        if stage is None:
            wanted = wanted.where(counts_of(task))
        else:
            wanted = wanted.where(items.c.stage == stage, counts_at(task, stage))
        # Two statements, each with its index: with OR, SQLite would read the whole stage.
        named = (items.c.key.in_(keys), sa.and_(items.c.key.is_(None), items.c.seq.in_(positions)))
        return {id_ for condition in named for id_ in self.connection.execute(wanted.where(condition)).scalars()}

    def keys_at(self, task: int, stage: str, positions: Sequence[int], states: Sequence[str]) -> list[str]:
        """The keys of the items at these positions of a stage that are in one of the states, in order."""
        found: list[str] = []
        for start in range(0, len(positions), AT_ONCE):
            some = items.c.seq.in_(positions[start : start + AT_ONCE])
            wanted = sa.select(items.c.key, items.c.seq).where(items.c.task == task, items.c.stage == stage, some)
            wanted = wanted.where(_in_states(states), counts_at(task, stage))
            rows = self.connection.execute(wanted.order_by(items.c.seq))
            found += [row.key or str(row.seq) for row in rows]
        return found

    def emitted(self, task: int, after: tuple[int, int, int], limit: int = PAGE) -> list[Piece]:
        """Streamed pieces of the leases that count, in order, behind ``after``: an item, its lease and a position in it.

        When that item has another lease meanwhile, its pieces come from the beginning.
        """
        item, lease, position = after
        here = sa.and_(emissions.c.item == item, sa.or_(emissions.c.lease != lease, emissions.c.position > position))
        rows = self.connection.execute(
            sa.select(items.c.id, emissions.c.lease, emissions.c.position, items.c.key, items.c.seq, emissions.c.body)
            .join(items, sa.and_(items.c.id == emissions.c.item, items.c.lease == emissions.c.lease))
            .where(
                emissions.c.task == task,
                counts_of(task),
                sa.or_(emissions.c.item > item, here),
            )
            .order_by(emissions.c.item, emissions.c.position)
            .limit(limit)
        )
        return [Piece(row.id, row.lease, row.position, row.key or str(row.seq), row.body) for row in rows]

    def lease_of(self, item: int) -> int | None:
        """The newest lease of an item."""
        found = self.connection.execute(sa.select(items.c.lease).where(items.c.id == item)).scalar()
        return None if found is None else int(found)

    def first_open(self, task: int, stage: str, after: int) -> tuple[int, int] | None:
        """(position, id) of the first item of the stage from position ``after`` on that is not settled."""
        unsettled = sa.or_(OPEN, is_reset())
        probe = sa.select(items.c.seq, items.c.id).where(
            items.c.task == task, items.c.stage == stage, items.c.seq >= after, unsettled, counts_at(task, stage)
        )
        row = self.connection.execute(probe.order_by(items.c.seq).limit(1)).first()
        return None if row is None else (row.seq, row.id)

    def open_counts(self) -> dict[str, int]:
        """Open items of active tasks per state, over the whole installation."""
        counted = sa.select(items.c.state, sa.func.count()).join(task_table, task_table.c.number == items.c.task)
        wanted = counted.where(OPEN, ACTIVE, task_table.c.stage == items.c.stage)
        return {row[0]: row[1] for row in self.connection.execute(wanted.group_by(items.c.state))}

    def makers(self, task: int, stage: str) -> dict[str, int]:
        """How many done items of a stage each model has made; those that name none are left out."""
        counted = (
            sa.select(item_data.c.model, sa.func.count())
            .join(items, items.c.id == item_data.c.item)
            .where(items.c.task == task, items.c.stage == stage, items.c.state == ItemState.DONE)
            .where(item_data.c.model.is_not(None), counts_at(task, stage), ~is_reset())
            .group_by(item_data.c.model)
            .order_by(sa.func.count().desc())
        )
        return {row[0]: row[1] for row in self.connection.execute(counted)}

    def neighbours(self, task: int, stage: str, seq: int) -> tuple[str | None, str | None]:
        """The keys of the items before and after a position of a stage."""
        mine = sa.select(items.c.key, items.c.seq).where(
            items.c.task == task, items.c.stage == stage, counts_at(task, stage)
        )
        before = self.connection.execute(mine.where(items.c.seq < seq).order_by(items.c.seq.desc()).limit(1)).first()
        after = self.connection.execute(mine.where(items.c.seq > seq).order_by(items.c.seq).limit(1)).first()
        return (before and (before.key or str(before.seq)), after and (after.key or str(after.seq)))

    def cells(self, task: int, stage: str, width: int = 1) -> list[tuple[int, str, int]]:
        """(position, state, how many): one for each item of a stage, or for each state in a run of ``width`` items, in order."""
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
        """(span, worker, state, how many) of settled items: span 0 is the last ``seconds``, 1 the ones before it, and so on."""
        ago = sa.cast(sa.func.floor(self.clock.seconds_since(items.c.finished_at) / seconds), sa.Integer).label("ago")
        # Who finished an item is kept with it (by older versions, with its output); who failed, with the attempt.
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


STATE_NOW = sa.case((is_reset(), ItemState.PENDING.value), else_=items.c.state)


def _counted(
    mine: Callable[[sa.Column[Any]], sa.ColumnElement[bool]], *of_stage: sa.ColumnElement[bool], hidden: bool = False
) -> sa.CompoundSelect[Any]:
    """How many items there are in each state; one statement, so that all of it is of one moment."""
    plain = sa.select(items.c.task, items.c.stage, items.c.state, sa.func.count())
    plain = plain.group_by(items.c.task, items.c.stage, items.c.state).where(mine(items.c.task), *of_stage)
    parts = (plain, counted_back().where(mine(reset_items.c.task), *of_stage))
    return sa.union_all(*(part if hidden else part.having(counts_in_group()) for part in parts))


def _is_wanted(task: sa.Column[Any]) -> sa.ColumnElement[bool]:
    return task == sa.bindparam("wanted")


_AT_STAGE = items.c.stage == sa.bindparam("at_stage")
COUNTED_OF_ONE = _counted(_is_wanted)
COUNTED_OF_STAGE = _counted(_is_wanted, _AT_STAGE)
COUNTED_OF_DRAFT = _counted(_is_wanted, _AT_STAGE, hidden=True)


def _in_states(states: Sequence[str]) -> sa.ColumnElement[bool]:
    """The item is in one of these states, as a reader should see it."""
    plain = sa.and_(items.c.state.in_(states), ~is_reset())
    return sa.or_(plain, is_reset()) if ItemState.PENDING in states else plain


@lru_cache(maxsize=16)
def kept_statement(clock: Clock, failed: bool = False) -> sa.Select[Any]:
    """A page of what a merge reads, of all items or of those that failed; built once."""
    known: dict[str, sa.ColumnElement[Any]] = {
        **{column.name: column for column in (*items.c, *item_data.c)},
        "key": sa.func.coalesce(items.c.key, sa.cast(items.c.seq, sa.Text)),
        "seconds": clock.seconds_between(items.c.started_at, items.c.finished_at),
        "state": STATE_NOW.label("state"),
        "output": sa.case((reset_kind() != REDO, sa.null()), else_=item_data.c.output).label("output"),
    }
    found = sa.select(*(known[name] for name in Kept._fields)).outerjoin(item_data, item_data.c.item == items.c.id)
    task, stage = sa.bindparam("wanted", type_=sa.BigInteger), sa.bindparam("at_stage", type_=sa.Text)
    mine = sa.and_(items.c.task == task, items.c.stage == stage, counts_at(task, stage))
    behind = found.where(mine, items.c.seq > sa.bindparam("after")).order_by(items.c.seq)
    if failed:
        behind = behind.where(STATE_NOW == ItemState.FAILED)
    return behind.limit(sa.bindparam("most", type_=sa.Integer))


def _items(bodies: bool) -> sa.Select[Any]:
    wanted = [field.name for field in fields(ItemRow) if bodies or field.default is MISSING]
    columns = [items.c[name] if name in items.c else item_data.c[name] for name in wanted]
    return sa.select(*columns, reset_kind().label("reset")).outerjoin(item_data, item_data.c.item == items.c.id)


FRESH = dict.fromkeys(("worker", "available_at", "finished_at", "message", "degraded", "hold", "progress"))
"""What an item that is put back to pending has no more; with ``NOTHING``, what one that starts over has no more."""
NOTHING = dict.fromkeys(
    ("error_code", "error_message", "error_detail", "model", "usage", "made_by", "output", "previous")
)


def _row(row: sa.Row[Any]) -> ItemRow:
    found = dict(row._mapping)
    reset = found.pop("reset")
    if reset is not None:
        found |= FRESH | {"state": ItemState.PENDING.value, "attempts": 0, "failures": 0, "crashes": 0}
        found |= {name: None for name in NOTHING if name in found and reset != REDO}
    return ItemRow(**found | {"key": row.key or str(row.seq), "progress": float(found["progress"] or 0.0)})
