"""Resets many items to `pending`, for retry and rerun: in short transactions, but visible at one moment.

The items are noted first, which readers do not see. One transaction then moves the task and makes the notes count. After that
the notes are carried out by the command that made them, by the next command on the task, or by a sweep.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fanfold.engine.tasks.many_items.leftovers import NotReady
from fanfold.errors import IllegalMove, NotFound
from fanfold.model.lifecycle import ItemState
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.store.items.large.drafts import STALE_SECONDS
from fanfold.store.items.large.reset_queue import CHUNK, OUTDATE, OVER, REDO, Note
from fanfold.store.items.reset import Chosen
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.sweep")
RESETS, STEPS = 50, 200
"""Most abandoned resets per sweep, and most short transactions spent on them."""


class Unfinished(NotReady):
    """A reset of many items is decided, but not yet carried out."""

    def __init__(self, task: int) -> None:
        super().__init__("many items are being reset")
        self.task = task


class LargeReset(NotReady):
    """There are more items to reset than one short transaction can."""

    def __init__(self, row: TaskRow, selection: Selection) -> None:
        super().__init__(f"many items of {selection.stage} must be reset")
        self.row = row
        self.selection = selection


@dataclass(frozen=True)
class Selection:
    """Which items of a stage to reset, and what follows from it."""

    stage: str
    which: str = "failed"
    """`failed`, `degraded` or `all`; ignored if there are keys."""
    keys: tuple[str, ...] = ()
    options: str | None = None
    followers: tuple[str, ...] = ()

    @property
    def notes_per_item(self) -> int:
        """Notes per item: its own, and one for each stage that was made from it."""
        return 1 + len(self.followers)


@dataclass(frozen=True)
class Noted:
    """A reset with all its items noted. It takes effect when its token is written into the task's row."""

    row: TaskRow
    selection: Selection
    token: str
    count: int
    begun: bool
    """Whether any of the items was ever claimed."""

    def still_holds(self, tx: Transaction, row: TaskRow) -> bool:
        """Whether the task is unchanged since its items were noted, and no other reset has begun."""
        return is_same(self.row, row) and tx.resets.refresh(row.number, self.token)


def is_same(before: TaskRow, now: TaskRow) -> bool:
    """Whether the task has not moved in between."""
    known = ("state", "stage", "generation", "plan", "updated_at", "resetting")
    return all(getattr(before, name) == getattr(now, name) for name in known)


def note_ahead(store: Store, large: LargeReset) -> Noted | None:
    """Note the items of a large reset in short transactions; None if the task was steered meanwhile."""
    noting = _Noting(large.row, large.selection, secrets.token_hex(8))
    try:
        store.transact(noting.begin)
        while not store.transact(noting.clear):
            pass
        count, begun = (noting.note_keys(store), True) if large.selection.keys else noting.note_all(store)
    except (IllegalMove, NotFound, _Steered) as problem:
        _discard(store, large.row.number, noting.token, STEPS)
        if isinstance(problem, _Steered):
            return None
        raise
    return Noted(large.row, large.selection, noting.token, count, begun)


class _Steered(Exception):
    """The task moved while its items were being noted."""


@dataclass(frozen=True)
class _Noting:
    """Writes the notes of one reset. Each transaction can run twice."""

    row: TaskRow
    selection: Selection
    token: str

    def begin(self, tx: Transaction) -> None:
        self._check(tx)
        tx.resets.begin(self.row.number, self.token, self.selection.options)

    def clear(self, tx: Transaction) -> bool:
        """Remove notes of an undecided reset; returns whether all are gone."""
        self._check(tx)
        return tx.resets.clear(self.row.number)

    def note_keys(self, store: Store) -> int:
        """Note the named items; returns how many."""

        def note(tx: Transaction, keys: Sequence[str]) -> int:
            self._go_on(tx)
            chosen = named(tx, self.row, self.selection.stage, keys)
            refuse_busy(self.row, chosen, self.selection.options)
            return self._note(tx, chosen)

        keys, size = tuple(dict.fromkeys(self.selection.keys)), self._size
        chunks = [keys[start : start + size] for start in range(0, len(keys), size)]
        return sum(store.transact(partial(note, keys=some)) for some in chunks)

    def note_all(self, store: Store) -> tuple[int, bool]:
        """Note all selected items; returns how many, and whether any was ever claimed."""
        count, begun, after, size = 0, False, 0, self._size

        def note(tx: Transaction) -> tuple[list[Chosen], int]:
            self._go_on(tx)
            stage, which = self.selection.stage, self.selection.which
            chosen = tx.resetting.choose(self.row.number, stage, which, after=after, limit=size)
            self._note(tx, chosen)
            return chosen, tx.resetting.place_of(which, chosen[-1]) if chosen else after

        while (noted := store.transact(note))[0]:
            chosen, after = noted
            count, begun = count + len(chosen), begun or any(one.lease for one in chosen)
        return count, begun

    @property
    def _size(self) -> int:
        return max(1, CHUNK // self.selection.notes_per_item)

    def _go_on(self, tx: Transaction) -> None:
        self._check(tx)
        if not tx.resets.refresh(self.row.number, self.token):
            raise IllegalMove(say("put_back_by_others", task=self.row.id))

    def _check(self, tx: Transaction) -> None:
        """Check under the task's lock that it has not changed."""
        row = tx.tasks.lock(self.row.number)
        if row is None or not is_same(self.row, row):
            raise _Steered

    def _note(self, tx: Transaction, chosen: Sequence[Chosen]) -> int:
        number, over = self.row.number, self.selection.which == "all"
        notes = [Note(one.id, OVER if over else REDO, None if over else one.lease) for one in chosen]
        moved = [one.id for one in chosen if one.state != ItemState.PENDING]
        made = tx.resetting.made_from(number, moved, self.selection.followers)
        tx.resets.note(number, self.token, [*notes, *(Note(item, OUTDATE, None) for item in made)])
        return len(chosen)


def named(tx: Transaction, row: TaskRow, stage: str, keys: Sequence[str]) -> list[Chosen]:
    """The items with these keys; NotFound if one is missing."""
    ids = tx.reading.ids(row.number, stage, keys)
    if len(ids) < len(set(keys)):
        known = {item.key for item in tx.reading.page(row.number, stage=stage, keys=keys, limit=len(keys))}
        unknown = [key for key in dict.fromkeys(keys) if key not in known]
        raise NotFound(say("no_such_items_in", task=row.id, keys=unknown, stage=stage))
    return tx.resetting.named(ids)


def refuse_busy(row: TaskRow, chosen: Sequence[Chosen], options: str | None) -> None:
    """Refuse to reset running items, and pending ones unless their options change."""
    busy = (ItemState.RUNNING,) if options is not None else (ItemState.RUNNING, ItemState.PENDING)
    if any(one.state in busy for one in chosen):
        raise IllegalMove(say("items_busy", task=row.id))


def finish_reset(store: Store, number: int, steps: int | None = None) -> bool:
    """Carry out the rest of a decided reset in short transactions; False if ``steps`` were not enough."""

    def step(tx: Transaction) -> bool:
        row = tx.tasks.lock(number)
        if row is None or row.resetting is None:
            return True
        reset = tx.resets.get(number)
        over = tx.resetting.carry_out(number, row.resetting, None if reset is None else reset.options)
        if over:
            tx.resets.end(number)
            tx.announce()
        else:
            tx.resets.refresh(number, row.resetting)
        return over

    while steps is None or steps > 0:
        if store.transact(step):
            return True
        steps = None if steps is None else steps - 1
    return False


def _discard(store: Store, number: int, token: str, steps: int) -> bool:
    """Drop the notes of an undecided reset; False if ``steps`` were not enough."""

    def step(tx: Transaction) -> bool:
        row = tx.tasks.lock(number)
        if (row is not None and row.resetting == token) or not tx.resets.refresh(number, token):
            return True
        over = tx.resets.clear(number)
        if over:
            tx.resets.end(number)
        return over

    return any(store.transact(step) for _ in range(steps))


def finish_abandoned(store: Store, actor: str) -> None:
    """Carry out or drop abandoned resets, in bounded steps."""
    with store.read() as tx:
        old = tx.resets.abandoned(STALE_SECONDS, RESETS)
        rows = {reset.task: tx.tasks.get(reset.task) for reset in old}
    for reset in old:
        row = rows[reset.task]
        if row is not None and row.resetting == reset.token:
            finish_reset(store, reset.task, STEPS)
            log.info("[%s] Reset items of %s to pending: the process that started it has ended", actor, row.id)
        else:
            _discard(store, reset.task, reset.token, STEPS)
