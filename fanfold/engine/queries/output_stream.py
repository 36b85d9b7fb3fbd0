"""What do items say while they run? The pieces they emit, in order, taken step by step."""

from __future__ import annotations

from typing import Any

from fanfold.model.lifecycle import TaskState
from fanfold.model.task import TaskRow
from fanfold.store.store import Store


class Emitted:
    """The stream of one task, and how far it was read."""

    def __init__(self, store: Store, row: TaskRow, follow: bool) -> None:
        self.over = False
        """Whether there is nothing more to come."""
        self._store = store
        self._number = row.number
        self._follow = follow
        self._stage = row.stage
        self._settled_to = 0
        self._after = (0, -1)

    def next(self) -> list[tuple[str, Any]]:
        """The next (key, value) pairs; none when there are none yet.

        Who follows gets no piece behind an item that is still at work: its own next pieces come before that. A task
        that was stopped is not waited for: its open items hold nothing back.
        """
        with self._store.read() as tx:
            current = tx.tasks.get(self._number)
            if current is not None and current.stage != self._stage:
                self._stage, self._settled_to = current.stage, 0
            at_rest = not self._follow or current is None or current.state is not TaskState.ACTIVE
            barrier = None if at_rest else tx.reading.first_open(self._number, self._stage, self._settled_to)
            self._settled_to = barrier[0] if barrier else self._settled_to
            found = tx.reading.emitted(self._number, self._after)
        taken = [piece for piece in found if barrier is None or piece[0] <= barrier[1]]
        if taken:
            self._after = (taken[-1][0], taken[-1][1])
        self.over = at_rest and not found
        return [(key, self._store.unfold(body)) for _, _, key, body in taken]
