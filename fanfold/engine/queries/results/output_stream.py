"""Reads the pieces that items emit while they run, in order, step by step."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from fanfold.errors import BadInput
from fanfold.model.item import BEGAN_AGAIN
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.model.values.decoding import PLAIN, Reading
from fanfold.store.store import Store, Transaction
from fanfold.store.streams.in_database import EmittedPiece, NewestAttempt

LOOK_SECONDS = 0.5
"""How long pieces are taken from Redis alone: then the database is asked again who holds the lease and which item is next."""
LIVE_POLL_SECONDS = 0.05
"""Pause between two reads of Redis, which cost it next to nothing."""


class PlacedPiece(NamedTuple):
    """A piece, and the place after which a later reader can continue."""

    key: str
    value: Any
    place: str


class OutputStream:
    """The stream of one task, and how far it has been read."""

    def __init__(
        self, store: Store, row: TaskRow, follow: bool, reading: Reading = PLAIN, after: str | None = None
    ) -> None:
        """``after``: the place of the last piece that was read before."""
        self.over = False
        """Whether the stream has ended."""
        self._store = store
        self._number = row.number
        self._follow = follow
        self._reading = reading
        self._stage = row.stage
        self._settled_to = 0
        self._last = None if after is None else _place(store, row, after)
        self._live = store.live_streams if follow else None
        self._running: NewestAttempt | None = None
        """The attempt whose pieces come next, and may be in Redis before they are in the database."""
        self._looked_at = -LOOK_SECONDS

    def next(self) -> list[tuple[str, Any]]:
        """The next (key, value) pairs; empty if there are none yet."""
        return [(piece.key, piece.value) for piece in self.next_placed()]

    def next_placed(self) -> list[PlacedPiece]:
        """The next pieces with their places; empty if there are none yet.

        When following, pieces after a running item are held back: its own next pieces come first. The open items of a task
        that was stopped hold nothing back. An item whose attempt was replaced gives ``(key, BEGAN_AGAIN)``, and then the
        pieces of the new attempt from the beginning.
        """
        if self._running is not None and time.monotonic() - self._looked_at < LOOK_SECONDS:
            taken, asks_database = self._from_redis(self._running)
            if taken or not asks_database:
                return self._placed(taken)
        return self._from_database()

    def pause(self, seconds: float) -> float:
        """How long to wait before the next step, if there is nothing now: less where that does not cost a query."""
        is_live = self._live is not None and self._live.works and self._running is not None
        return min(seconds, LIVE_POLL_SECONDS) if is_live else seconds

    def _from_database(self) -> list[PlacedPiece]:
        self._looked_at = time.monotonic()
        with self._store.read() as tx:
            current = tx.tasks.get(self._number)
            if current is not None and current.stage != self._stage:
                self._stage, self._settled_to = current.stage, 0
            at_rest = not self._follow or current is None or current.state is not TaskState.ACTIVE
            barrier = None if at_rest else tx.reading.first_open(self._number, self._stage, self._settled_to)
            self._settled_to = barrier[0] if barrier else self._settled_to
            again = self._began_again(tx)
            found = tx.streams.read(self._number, self._last[:3] if self._last else (0, 0, -1))
            self._running = tx.streams.newest_attempt(barrier[1]) if barrier and self._live else None
        taken = [piece for piece in found if barrier is None or piece.item <= barrier[1]]
        if taken:
            self._last = taken[-1]
        self.over = at_rest and not found
        return [*again, *self._placed(taken)]

    def _from_redis(self, running: NewestAttempt) -> tuple[list[EmittedPiece], bool]:
        """Pieces of the running attempt, if they continue those that were read; and whether the database must be asked.

        That is so if Redis does not answer, has a gap, has something of another attempt, or says that the attempt is over.
        """
        here = self._last is not None and self._last[:2] == (running.item, running.lease)
        position = self._last.position if here and self._last is not None else -1
        entries = None if self._live is None else self._live.read(running.item, running.lease, position)
        if entries is None:
            return [], True
        taken: list[EmittedPiece] = []
        for entry in entries:
            is_next = entry.position == position + 1 and (entry.lease, entry.began) == (running.lease, running.began)
            if not is_next or entry.body is None:
                # Let the next step ask the database, even if these pieces are returned first.
                self._looked_at = -LOOK_SECONDS
                break
            position = entry.position
            taken.append(EmittedPiece(running.item, running.lease, position, running.key, entry.body))
        if taken:
            self._last = taken[-1]
        return taken, self._looked_at < 0

    def _placed(self, pieces: list[EmittedPiece]) -> list[PlacedPiece]:
        return [
            PlacedPiece(piece.key, self._store.unfold(piece.body, self._reading), ".".join(map(str, piece[:3])))
            for piece in pieces
        ]

    def _began_again(self, tx: Transaction) -> list[PlacedPiece]:
        """A mark, once, if the item whose pieces came last has a new attempt: its earlier pieces no longer count."""
        if self._last is None:
            return []
        lease = tx.reading.lease_of(self._last.item)
        if lease is None or lease == self._last.lease:
            return []
        before, self._last = self._last, self._last._replace(lease=lease, position=-1)
        place = f"{before.item}.{lease}.-1"
        return [PlacedPiece(before.key, BEGAN_AGAIN, place)] if before.position >= 0 else []


def _place(store: Store, row: TaskRow, text: str) -> EmittedPiece:
    """The piece after which a reader continues; BadInput for what is no place in this task's stream."""
    try:
        item, lease, position = (int(part) for part in text.split("."))
    except ValueError:
        raise BadInput(say("no_such_place", place=text[:50]), code="bad_place") from None
    with store.read() as tx:
        key = tx.streams.key_of(row.number, item) if 0 < item < 2**63 else None
    if key is None:
        raise BadInput(say("no_such_place", place=text[:50]), code="bad_place")
    return EmittedPiece(item, lease, position, key, "")
