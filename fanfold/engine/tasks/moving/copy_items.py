"""Copies the many items of one `each` stage into the next, in short transactions, before the task moves.

The copy is written as a draft, so two workers cannot make it at once. A stale draft is taken over and started again; copying an
item twice changes nothing. A complete draft names the task's newest event: if no event has followed, the transaction that moves
the task only has to end the draft.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from typing import TypeVar

from fanfold.engine.tasks.many_items.draft import remove_items
from fanfold.engine.tasks.many_items.leftovers import Leftovers, NotReady, remove_leftovers
from fanfold.engine.tasks.many_items.merge_without_held import ManyHeld, give_up_most
from fanfold.engine.tasks.many_items.reset_items import Unfinished, finish_reset
from fanfold.engine.tasks.moving.advance import LargeCopy, advance
from fanfold.engine.tasks.moving.counts import COPIED, OutOfDate
from fanfold.engine.tasks.moving.transitions import Pipelines
from fanfold.model.lifecycle import TaskState
from fanfold.store.items.large.copy import COPY_CHUNK
from fanfold.store.items.large.drafts import COPY, OLD, STALE_SECONDS
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.worker")
Result = TypeVar("Result")
TRIES = 5


def move_on(
    store: Store, pipelines: Pipelines, number: int, actor: str, stopped: Callable[[], bool] = lambda: False
) -> TaskState | None:
    """Advance a task if its stage is over, copying many items first if necessary; None if there was nothing to do."""
    return once_ready(store, lambda: advance(store, pipelines, number, actor), stopped)


def once_ready(store: Store, act: Callable[[], Result], stopped: Callable[[], bool] = lambda: False) -> Result | None:
    """The result of ``act`` once its preconditions are met; None if another process is doing the work, or if ``stopped``."""
    for _ in range(TRIES):
        try:
            return act()
        except NotReady as problem:
            if not make_ready(store, problem, stopped):
                return None
    return None


def make_ready(store: Store, problem: NotReady, stopped: Callable[[], bool] = lambda: False) -> bool:
    """Do what a move must wait for; False if another process is doing it, or if ``stopped``."""
    if isinstance(problem, OutOfDate):
        return True  # The next try counts the items again.
    if isinstance(problem, LargeCopy):
        return copy_ahead(store, problem, stopped)
    if isinstance(problem, Leftovers):
        return remove_leftovers(store, problem.task, problem.stages, stopped)
    if isinstance(problem, Unfinished):
        return finish_reset(store, problem.task)
    if isinstance(problem, ManyHeld):
        return give_up_most(store, problem)
    raise problem


def copy_ahead(store: Store, large: LargeCopy, stopped: Callable[[], bool] = lambda: False) -> bool:
    """Copy the items of a stage, hidden; False if another process is doing it, or if ``stopped``.

    Also True if the task was steered meanwhile: the caller checks the task again.
    """
    copy = Copy(large, f"copy {secrets.token_hex(8)}", stopped)
    begun = store.transact(copy.begin)
    if not begun:
        return begun is None and not stopped()
    if copy.is_old and not remove_items(store.transact, large.task, large.target, copy.token, may=copy.may):
        return not stopped()
    copy.after = 0
    while copy.after < copy.last:
        copied = store.transact(copy.some)
        if copied is not None:
            copy.after += COPY_CHUNK if copied else 0
        else:
            store.transact(lambda tx: tx.drafts.let_go(large.task, large.target, copy.token))
            return not stopped()
    store.transact(lambda tx: tx.items.analyze(copy.last))
    store.transact(copy.end)
    return True


class Copy:
    """One copy in progress."""

    def __init__(self, large: LargeCopy, token: str, stopped: Callable[[], bool]) -> None:
        self.large = large
        self.token = token
        self.stopped = stopped
        self.after = self.last = 0
        self.is_old = False

    def begin(self, tx: Transaction) -> bool | None:
        """Take the draft; False if another process is copying these items, None if the task has moved since.

        A draft for a stage that the task has already entered would hide items that are being processed.
        """
        task, target = self.large.task, self.large.target
        if tx.tasks.lock(task) is None:
            return False
        if tx.events.last(task) != self.large.event:
            return None
        draft = tx.drafts.hidden(task).get(target)
        self.is_old = draft is not None and draft.kind != COPY
        self.last = tx.items.last_position(task, self.large.source)
        free = draft is None or self.is_old or draft.token.startswith(COPIED)
        kind = OLD if self.is_old else COPY
        return tx.drafts.begin(task, target, kind, self.token, stale_seconds=None if free else STALE_SECONDS)

    def may(self, tx: Transaction) -> bool:
        """Whether the task is unchanged since the copy began, checked under its lock."""
        task = self.large.task
        return not self.stopped() and tx.tasks.lock(task) is not None and tx.events.last(task) == self.large.event

    def some(self, tx: Transaction) -> bool | None:
        """Copy the next positions; False if another transaction is needed, None if the copy is obsolete or no longer ours."""
        task, source, target = self.large.task, self.large.source, self.large.target
        if not self.may(tx) or not tx.drafts.refresh(task, target, self.token):
            return None
        if self.is_old and not self.after:
            tx.drafts.begin(task, target, COPY, self.token)
        return tx.items.copy(task, source, target, after=self.after, upto=self.after + COPY_CHUNK)

    def end(self, tx: Transaction) -> bool:
        """Mark the copy as complete."""
        task, target = self.large.task, self.large.target
        if not self.may(tx) or not tx.drafts.refresh(task, target, self.token):
            return False
        return tx.drafts.begin(task, target, COPY, f"{COPIED}{self.large.event}")
