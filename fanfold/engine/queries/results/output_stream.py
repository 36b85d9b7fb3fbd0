"""Reads the pieces that items emit while they run, in order, step by step."""

from __future__ import annotations

from typing import Any

from fanfold.model.item import BEGAN_AGAIN
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import TaskRow
from fanfold.model.values.decoding import PLAIN, Reading
from fanfold.store.store import Store, Transaction
from fanfold.store.streams.database import EmittedPiece


class OutputStream:
    """The stream of one task, and how far it has been read."""

    def __init__(self, store: Store, row: TaskRow, follow: bool, reading: Reading = PLAIN) -> None:
        self.over = False
        """Whether the stream has ended."""
        self._store = store
        self._number = row.number
        self._follow = follow
        self._reading = reading
        self._stage = row.stage
        self._settled_to = 0
        self._last: EmittedPiece | None = None

    def next(self) -> list[tuple[str, Any]]:
        """The next (key, value) pairs; empty if there are none yet.

        When following, pieces after a running item are held back: its own next pieces come first. The open items of a task
        that was stopped hold nothing back. An item whose attempt was replaced gives ``(key, BEGAN_AGAIN)``, and then the
        pieces of the new attempt from the beginning.
        """
        with self._store.read() as tx:
            current = tx.tasks.get(self._number)
            if current is not None and current.stage != self._stage:
                self._stage, self._settled_to = current.stage, 0
            at_rest = not self._follow or current is None or current.state is not TaskState.ACTIVE
            barrier = None if at_rest else tx.reading.first_open(self._number, self._stage, self._settled_to)
            self._settled_to = barrier[0] if barrier else self._settled_to
            again = self._began_again(tx)
            found = tx.streams.read(self._number, self._last[:3] if self._last else (0, 0, -1))
        taken = [piece for piece in found if barrier is None or piece.item <= barrier[1]]
        if taken:
            self._last = taken[-1]
        self.over = at_rest and not found
        return [*again, *((piece.key, self._store.unfold(piece.body, self._reading)) for piece in taken)]

    def _began_again(self, tx: Transaction) -> list[tuple[str, Any]]:
        """A mark, once, if the item whose pieces came last has a new attempt: its earlier pieces no longer count."""
        if self._last is None:
            return []
        lease = tx.reading.lease_of(self._last.item)
        if lease is None or lease == self._last.lease:
            return []
        before, self._last = self._last, self._last._replace(lease=lease, position=-1)
        return [(before.key, BEGAN_AGAIN)] if before.position >= 0 else []
