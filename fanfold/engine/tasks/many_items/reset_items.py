"""Puts many items back to `pending`, for retry and rerun: all of them at one moment, in short transactions.

The items are noted first, which nobody sees. One transaction then moves the task and makes the notes count. After that they are
carried out, by the command that made them, by the next command on the task, or by a sweep.
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
"""Most abandoned resets that one sweep looks at, and most short transactions that it spends on them."""


class Unfinished(NotReady):
    """A reset of many items is decided, but not yet carried out."""

    def __init__(self, task: int) -> None:
        super().__init__("many items are being put back")
        self.task = task


class LargeReset(NotReady):
    """More items are to be put back than one short transaction can."""

    def __init__(self, row: TaskRow, selection: Selection) -> None:
        super().__init__(f"many items of {selection.stage} are to be put back")
        self.row = row
        self.selection = selection


@dataclass(frozen=True)
class Selection:
    """Which items of a stage are put back, and what follows from it."""

    stage: str
    which: str = "failed"
    """`failed`, `degraded` or `all`; of no meaning where there are keys."""
    keys: tuple[str, ...] = ()
    options: str | None = None
    followers: tuple[str, ...] = ()

    @property
    def notes_per_item(self) -> int:
        """How many notes an item costs: its own, and one for each stage that was made from it."""
        return 1 + len(self.followers)


@dataclass(frozen=True)
class Noted:
    """A reset whose items are noted, all of them; it counts as soon as its token stands in the task's row."""

    row: TaskRow
    selection: Selection
    token: str
    count: int
    begun: bool
    """Whether any of the items was ever claimed."""

    def still_holds(self, tx: Transaction, row: TaskRow) -> bool:
        """Whether the task is as it was when its items were noted, and nobody has begun another reset."""
        return is_same(self.row, row) and tx.resets.refresh(row.number, self.token)


def is_same(before: TaskRow, now: TaskRow) -> bool:
    """Whether a task has not been moved in between."""
    known = ("state", "stage", "generation", "plan", "updated_at", "resetting")
    return all(getattr(before, name) == getattr(now, name) for name in known)


def note_ahead(store: Store, large: LargeReset) -> Noted | None:
    """Note the items of a large reset, in short transactions; None when the task was steered meanwhile."""
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
    """The task was moved while its items were noted."""


@dataclass(frozen=True)
class _Noting:
    """The notes of one reset, while they are written. Each transaction can be run twice."""

    row: TaskRow
    selection: Selection
    token: str

    def begin(self, tx: Transaction) -> None:
        self._check(tx)
        tx.resets.begin(self.row.number, self.token, self.selection.options)

    def clear(self, tx: Transaction) -> bool:
        """Remove notes of a reset that was never decided; whether all are gone."""
        self._check(tx)
        return tx.resets.clear(self.row.number)

    def note_keys(self, store: Store) -> int:
        """Note the items that were named; returns how many."""

        def note(tx: Transaction, keys: Sequence[str]) -> int:
            self._go_on(tx)
            chosen = named(tx, self.row, self.selection.stage, keys)
            refuse_busy(self.row, chosen, self.selection.options)
            return self._note(tx, chosen)

        keys, size = tuple(dict.fromkeys(self.selection.keys)), self._size
        chunks = [keys[start : start + size] for start in range(0, len(keys), size)]
        return sum(store.transact(partial(note, keys=some)) for some in chunks)

    def note_all(self, store: Store) -> tuple[int, bool]:
        """Note all items that the selection is about; returns how many, and whether any was ever claimed."""
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
        """The task is as it was, which is looked at under its lock."""
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
    """The items with these keys; NotFound when there is not one for each."""
    ids = tx.reading.ids(row.number, stage, keys)
    if len(ids) < len(set(keys)):
        known = {item.key for item in tx.reading.page(row.number, stage=stage, keys=keys, limit=len(keys))}
        unknown = [key for key in dict.fromkeys(keys) if key not in known]
        raise NotFound(say("no_such_items_in", task=row.id, keys=unknown, stage=stage))
    return tx.resetting.named(ids)


def refuse_busy(row: TaskRow, chosen: Sequence[Chosen], options: str | None) -> None:
    """Items that a worker has cannot be put back; those that wait for one can only be told of other options."""
    busy = (ItemState.RUNNING,) if options is not None else (ItemState.RUNNING, ItemState.PENDING)
    if any(one.state in busy for one in chosen):
        raise IllegalMove(say("items_busy", task=row.id))


def finish_reset(store: Store, number: int, steps: int | None = None) -> bool:
    """Carry out what is left of a reset that is decided, in short transactions; False when ``steps`` were not enough."""

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
    """Drop the notes of a reset that was never decided; False when ``steps`` were not enough."""

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
    """Carry out, or drop, resets that nobody works on any more, in bounded steps."""
    with store.read() as tx:
        old = tx.resets.abandoned(STALE_SECONDS, RESETS)
        rows = {reset.task: tx.tasks.get(reset.task) for reset in old}
    for reset in old:
        row = rows[reset.task]
        if row is not None and row.resetting == reset.token:
            finish_reset(store, reset.task, STEPS)
            log.info("[%s] Put items of %s back to pending: the process that began it has ended", actor, row.id)
        else:
            _discard(store, reset.task, reset.token, STEPS)
