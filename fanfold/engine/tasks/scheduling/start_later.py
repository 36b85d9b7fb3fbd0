"""Starts tasks that were submitted with a start time, when it comes. Every sweep and every tick does this."""

from __future__ import annotations

import logging
from functools import partial

from fanfold.engine.tasks.moving.transitions import Pipelines, can_move, left_for_later, move
from fanfold.model.lifecycle import TaskState
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.sweep")
AT_ONCE = 200
"""Tasks started per sweep."""


def start_due(store: Store, pipelines: Pipelines, actor: str) -> int:
    """Start the tasks whose time has come; returns how many."""
    with store.read() as tx:
        due = tx.schedules.starting(AT_ONCE)
    started = 0
    for number in due:
        with left_for_later(store, actor):
            started += store.transact(partial(_start, pipelines, actor, number))
    return started


def _start(pipelines: Pipelines, actor: str, number: int, tx: Transaction) -> bool:
    row = tx.tasks.lock(number)
    if row is None or row.state is not TaskState.WAITING or row.start_at is None or not can_move(pipelines, row):
        return False
    if row.start_at > tx.time():
        return False
    waits = row.plan.stage(row.stage).gate
    move(tx, pipelines, row, "start", TaskState.WAITING if waits else TaskState.ACTIVE, actor=actor)
    return True
