"""Holds the items that a worker has claimed ahead, until a slot is free for them or they are handed back.

Their handlers have not begun, so a hand-back leaves no trace of them: no attempt, no failure, no crash.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.model.endings import Ending
from fanfold.model.item import Claimed
from fanfold.model.task import TaskRow
from fanfold.store.items.find_work import Pair

if TYPE_CHECKING:
    from fanfold.engine.worker.attempt.attempts import Attempts, Held

LONGEST_WAIT_SECONDS = 1.0
"""An item that has waited this long is handed back: the handlers are slower than measured, and another worker may be idle."""

OFFER_SECONDS = 0.05
"""How often free slots are offered to a turn before waiting items take them. Splits, merges, stages with a limit and items of
more urgent tasks are claimed for free slots only, and would never find one while waiting items take each slot at once."""


class WaitingItem(NamedTuple):
    """One item claimed ahead."""

    row: TaskRow
    claimed: Claimed
    claimed_at: float

    @property
    def pair(self) -> Pair:
        """Its pipeline and stage."""
        return (self.row.pipeline, self.claimed.stage)


class WaitingItems:
    """Queues of items claimed ahead, one per stage. Lives in the loop's thread; ``take_all`` may be called from any."""

    def __init__(
        self,
        attempts: Attempts,
        start: Callable[[TaskRow, Claimed], None],
        has_slot: Callable[[Pair], bool],
        may_start: Callable[[], bool],
        offer_seconds: float = OFFER_SECONDS,
    ) -> None:
        """``start`` starts an attempt, ``has_slot`` says whether a stage has a free slot, ``may_start`` whether anything may."""
        self._attempts = attempts
        self._start = start
        self._has_slot = has_slot
        self._may_start = may_start
        self._offer_seconds = offer_seconds
        self._queues: dict[Pair, deque[WaitingItem]] = {}
        self._offered_at = time.monotonic()

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def put(self, row: TaskRow, claimed: Claimed) -> None:
        """Add an item that was just claimed."""
        waiting = WaitingItem(row, claimed, time.monotonic())
        self._queues.setdefault(waiting.pair, deque()).append(waiting)

    def fill_slots(self) -> None:
        """Start items while there are free slots; release them if nothing may start, or if they have waited too long.

        Now and then a free slot is left to the next turn.
        """
        while (queue := self._next()) is not None:
            if not self._may_start():
                self.release_all()
            elif time.monotonic() - self._offered_at > self._offer_seconds:
                self._attempts.wake()
                return
            elif time.monotonic() - queue[0].claimed_at > LONGEST_WAIT_SECONDS:
                self.release_late()
            else:
                one = queue.popleft()
                self._start(one.row, one.claimed._replace(begun_at=time.monotonic()))

    def offered(self) -> None:
        """Note that a turn could claim for free slots: what it left is free for waiting items."""
        self._offered_at = time.monotonic()

    def _next(self) -> deque[WaitingItem] | None:
        """The queue of the item that waits longest, of the stages that have a free slot."""
        longest: deque[WaitingItem] | None = None
        for pair, queue in self._queues.items():
            if queue and (longest is None or queue[0].claimed_at < longest[0].claimed_at) and self._has_slot(pair):
                longest = queue
        return longest

    def per_stage(self) -> Mapping[Pair, int]:
        """How many wait, per stage."""
        return {pair: len(queue) for pair, queue in self._queues.items() if queue}

    def tasks(self) -> set[int]:
        """The tasks of the items that wait."""
        return {one.claimed.task for queue in self._queues.values() for one in queue}

    def ids(self) -> set[int]:
        """The items that wait."""
        return {one.claimed.id for queue in self._queues.values() for one in queue}

    def seconds_left(self) -> float | None:
        """Seconds until the first item has waited too long; None if none waits."""
        first = min((queue[0].claimed_at for queue in self._queues.values() if queue), default=None)
        return None if first is None else max(0.0, first + LONGEST_WAIT_SECONDS - time.monotonic())

    def release_late(self) -> None:
        """Hand back items that have waited too long, and note that the handlers of their stages are slow."""
        since = time.monotonic() - LONGEST_WAIT_SECONDS
        # In order of their claims.
        if not any(queue and queue[0].claimed_at <= since for queue in self._queues.values()):
            return
        late = self._take(lambda one: one.claimed_at <= since)
        for pair in {one.pair for one in late}:
            self._attempts.times.at_least(pair, LONGEST_WAIT_SECONDS)
        self._hand_back(late)

    def release_of(self, tasks: Collection[int]) -> None:
        """Hand back the items of tasks that were paused, closed or have moved on."""
        if tasks and self._queues:
            self._hand_back(self._take(lambda one: one.claimed.task in tasks))

    def release_all(self) -> None:
        """Hand everything back."""
        self._settle(self.take_all())

    def take_all(self) -> list[Settlement]:
        """Take everything, as settlements that hand it back; from any thread."""
        taken: list[Settlement] = []
        for queue in list(self._queues.values()):
            while queue:
                try:
                    taken.append(_released(queue.popleft()))
                except IndexError:  # Another thread was faster.
                    break
        return taken

    def lose_all(self) -> None:
        """Forget everything: the leases are gone."""
        self._queues.clear()

    def compare(self, held: Held, asked_at: float) -> None:
        """Forget items that were taken away, and hand back those whose task no longer wants them."""
        known = self._take(
            lambda one: one.claimed_at < asked_at and held.get(one.claimed.id) != (one.claimed.lease, True)
        )
        self._hand_back([one for one in known if held.get(one.claimed.id) == (one.claimed.lease, False)])

    def _take(self, unwanted: Callable[[WaitingItem], bool]) -> list[WaitingItem]:
        taken: list[WaitingItem] = []
        for queue in self._queues.values():
            kept: list[WaitingItem] = []
            for one in queue:
                (taken if unwanted(one) else kept).append(one)
            if len(kept) < len(queue):
                queue.clear()
                queue.extend(kept)
        return taken

    def _hand_back(self, items: Iterable[WaitingItem]) -> None:
        self._settle([_released(one) for one in items])

    def _settle(self, released: list[Settlement]) -> None:
        if released:
            self._attempts.put_back(released)
            self._attempts.wake()


def _released(waiting: WaitingItem) -> Settlement:
    """Hands back an item that never began."""
    return Settlement(waiting.claimed, Ending.RELEASE)
