"""Writes many items in short transactions. A draft hides them until the last transaction, which moves their task."""

from __future__ import annotations

from collections.abc import Callable

from fanfold.engine.tasks.many_items.new_items import NewItems
from fanfold.store.store import Transaction

Check = Callable[[Transaction], bool]
Note = Callable[[Transaction, int, int], None]
Transact = Callable[[Check], bool]


def write_items(
    transact: Transact, task: int, stage: str, token: str, new_items: NewItems, *, may: Check, note: Note | None = None
) -> bool:
    """Write all items of a draft, chunk by chunk; False if ``may`` refuses a chunk, or the draft is no longer ours.

    ``note`` is called in the transaction of each chunk with its first position and the position after its last. A chunk that
    already exists is skipped: the answer to its commit may have got lost.
    """
    for before, rows in new_items.chunks():

        def write(tx: Transaction, before: int = before, rows: list[tuple[str | None, str | None]] = rows) -> bool:
            if not may(tx) or not tx.drafts.refresh(task, stage, token):
                return False
            if not tx.items.has_position(task, stage, before + 1):
                tx.items.add_some(task, stage, before, rows)
                if note is not None:
                    note(tx, before + 1, before + 1 + len(rows))
            return True

        if not transact(write):
            return False
    return True


def remove_items(transact: Transact, task: int, stage: str, token: str, *, may: Check, keep: bool = True) -> bool:
    """Remove all items of a draft, chunk by chunk, and without ``keep`` also the draft; False as in ``write_items``."""
    nothing_left = False
    while not nothing_left:

        def remove(tx: Transaction) -> bool:
            nonlocal nothing_left
            nothing_left = False
            if not may(tx) or not tx.drafts.refresh(task, stage, token):
                return False
            nothing_left = tx.drafts.remove_items(task, stage)
            if nothing_left and not keep:
                tx.drafts.end(task, [stage])
            return True

        if not transact(remove):
            return False
    return True


def split_token(item: int, lease: int) -> str:
    """The token of the draft that an attempt of a split writes."""
    return f"split {item} {lease}"


def split_of(token: str) -> tuple[int, int] | None:
    """The item and lease of the split attempt with this token; None for other drafts."""
    kind, *numbers = token.split()
    return (int(numbers[0]), int(numbers[1])) if kind == "split" else None
