"""Removes items of an earlier run that are in the way: hides them at once, then removes them in short transactions."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from fanfold.engine.tasks.many_items.draft import remove_items
from fanfold.store.items.large.drafts import CHUNK, OLD
from fanfold.store.store import Store, Transaction

RETIRED = "retired "
"""Prefix of the token of a draft that hides items whose removal has not begun."""


class NotReady(Exception):
    """Raised if a move must wait for work that needs separate transactions."""


class Leftovers(NotReady):
    """Items of an earlier run must be removed first."""

    def __init__(self, task: int, stages: Sequence[str]) -> None:
        super().__init__(f"the items of {', '.join(stages)} must be removed first")
        self.task = task
        self.stages = stages


def retire(tx: Transaction, task: int, stages: Sequence[str]) -> None:
    """Remove all items of these stages under the task's lock: a few at once; many are hidden now and removed later."""
    there = [stage for stage in stages if tx.drafts.leftovers(task, [stage])]
    for stage in there:
        if tx.drafts.remove_items(task, stage, max(1, CHUNK // len(there))):
            tx.drafts.end(task, [stage])
        else:
            tx.drafts.begin(task, stage, OLD, f"{RETIRED}{secrets.token_hex(8)}")


def clear(tx: Transaction, task: int, stage: str) -> None:
    """Remove hidden items of a stage that is about to be entered; Leftovers if there are too many for this transaction."""
    if tx.drafts.leftovers(task, [stage]):
        if not tx.drafts.remove_items(task, stage):
            raise Leftovers(task, [stage])
        tx.drafts.end(task, [stage])


def remove_leftovers(store: Store, task: int, stages: Sequence[str], stopped: Callable[[], bool]) -> bool:
    """Remove the hidden items of these stages; False if ``stopped``. They may be gone already, or in use again."""
    for stage in stages:
        token = f"removal {secrets.token_hex(8)}"

        def begin(tx: Transaction, stage: str = stage, token: str = token) -> bool:
            hidden = tx.tasks.lock(task) is not None and stage in tx.drafts.hidden(task)
            return hidden and tx.drafts.begin(task, stage, OLD, token)

        if store.transact(begin):
            remove_items(store.transact, task, stage, token, may=lambda tx: not stopped(), keep=False)
        if stopped():
            return False
    return True


def remove_retired(store: Store, task: int) -> None:
    """Remove items that a command has just hidden, unless another process has begun to."""
    with store.read() as tx:
        hidden = [draft for draft in tx.drafts.hidden(task).values() if draft.token.startswith(RETIRED)]
    for draft in hidden:
        remove_items(store.transact, task, draft.stage, draft.token, may=lambda tx: True, keep=False)
