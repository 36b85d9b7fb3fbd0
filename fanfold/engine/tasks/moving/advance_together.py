"""Advances several small tasks with one commit.

A turn of a worker can end the stages of many tasks. A commit waits for the disk, longer than the move of a small task takes.
Each task is still decided by itself, under the lock of its row; the locks are taken in order of number.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from fanfold.engine.tasks.many_items.leftovers import NotReady
from fanfold.engine.tasks.moving.advance import decide, look_ahead
from fanfold.engine.tasks.moving.counts import Ahead
from fanfold.engine.tasks.moving.transitions import Pipelines
from fanfold.engine.telemetry.telling import left_stage
from fanfold.errors import FanfoldError
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import TaskRow
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.worker")
MOST_TASKS = 32
"""Most tasks in one transaction: about 40 ms on SQLite, where it holds the lock of all writers."""
MOST_ITEMS = 2_000
"""Most items, of all their stages, that these tasks have together."""


class Together(NamedTuple):
    """What came of it."""

    moved: set[int]
    alone: set[int]
    """Tasks that must be advanced one by one. Of the others, nothing is left to do."""


def advance_together(store: Store, pipelines: Pipelines, numbers: Collection[int], actor: str) -> Together:
    """Advance those of the tasks whose stage is over, except those whose move may fail or wait."""
    together = Together(set(), set())
    with store.read() as tx:
        over = tx.recovery.unclosed_among(numbers)
    for start in range(0, len(over), MOST_TASKS):
        some = over[start : start + MOST_TASKS]
        with store.read() as tx:
            looked_at = [(row, look_ahead(tx, pipelines, row)) for row in tx.tasks.by_numbers(some).values()]
        together.alone.update(row.number for row, ahead in looked_at if ahead is not None and not _is_plain(row, ahead))
        plain = [ahead for row, ahead in looked_at if isinstance(ahead, Ahead) and _is_plain(row, ahead)]
        for group in _groups(plain):
            _move(store, pipelines, group, actor, together)
    return together


def _is_plain(row: TaskRow, ahead: Ahead | TaskRow) -> bool:
    """Whether a move writes only the task's own rows, and no code of a user runs in it."""
    bound = row.plan.mirrored or row.plan.priced or row.parent_item is not None
    return isinstance(ahead, Ahead) and not bound and _size(ahead) <= MOST_ITEMS


def _size(ahead: Ahead) -> int:
    return sum(counts.total for counts in ahead.counts.values())


def _groups(plain: Sequence[Ahead]) -> Iterator[list[Ahead]]:
    """The tasks in the order of their numbers, as many at a time as have few items together."""
    group: list[Ahead] = []
    for ahead in plain:
        if group and sum(map(_size, group)) + _size(ahead) > MOST_ITEMS:
            yield group
            group = []
        group.append(ahead)
    if group:
        yield group


def _move(store: Store, pipelines: Pipelines, group: list[Ahead], actor: str, together: Together) -> None:
    def act(tx: Transaction) -> list[TaskState | None]:
        return [decide(pipelines, actor, ahead, tx) for ahead in group]

    try:
        states = store.transact(act)
    except (NotReady, FanfoldError) as problem:  # Of one of them. It must not hold up the others.
        log.debug("[%s] Advancing %d tasks one by one: %s", actor, len(group), problem)
        together.alone.update(ahead.row.number for ahead in group)
        return
    for ahead, state in zip(group, states, strict=True):
        if left_stage(store.settings, ahead.row, state) is not None:
            together.moved.add(ahead.row.number)
