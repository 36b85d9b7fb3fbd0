"""Divides slots fairly between owners, and then between the tasks of an owner, by virtual time.

Every waiting owner or task has a tag: its own virtual time. The next item goes to the lowest tag, which then grows by 1 divided
by the weight. So equal tasks take turns, and an owner of weight 3 gets three items for each item of an owner of weight 1.
Nothing has to expire: a newcomer, or a task that comes back, starts near the current time of the line, without debt or
credit. That time grows with every item given, including those given to newcomers, so an endless stream of small tasks cannot
starve a huge one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from heapq import heapify, heappop, heapreplace
from typing import Generic, TypeVar

from fanfold.store.items.find_work import Pair, Ready

Key = TypeVar("Key", bound=Hashable)
REMEMBERED = 1_000
"""Tags of absent keys that are kept before the outdated ones are dropped."""


class WaitingLine(Generic[Key]):
    """Owners or tasks that wait for the same slots."""

    def __init__(self) -> None:
        self.now = 0.0
        """The virtual time of the line: each item given adds its share of the total weight."""
        self._tags: dict[Key, float] = {}
        self._weights: dict[Key, float] = {}
        self._total = 0.0
        self._arrived: dict[Key, None] = {}
        """Newcomers without an item yet: the latest arrival first, and the oldest first among simultaneous arrivals."""
        self._newcomer_is_next = True
        self._closed: set[Key] = set()
        self._heap: list[tuple[float, int, Key]] = []

    def begin(self, waiting: Mapping[Key, float]) -> None:
        """Start a turn with all waiting keys, oldest first, and their weights."""
        for gone in self._weights.keys() - waiting.keys():
            self._arrived.pop(gone, None)
        joined = [key for key, weight in waiting.items() if key not in self._weights and self._join(key, weight)]
        if joined:
            self._arrived = dict.fromkeys(joined) | self._arrived
        self._weights = dict(waiting)
        self._total = sum(waiting.values())
        self._closed.clear()
        tags = self._tags
        self._heap = [(tags[key], age, key) for age, key in enumerate(waiting)]
        heapify(self._heap)
        if len(tags) > 2 * len(waiting) + REMEMBERED:
            self._tags = {key: tag for key, tag in tags.items() if key in waiting or tag > self.now - 1.0}

    def _join(self, key: Key, weight: float) -> bool:
        """Set the tag to one item before the line's time, unless it is already later; returns whether this is a newcomer."""
        start = self.now - 1.0 / weight
        if self._tags.get(key, start) > start:
            return False
        self._tags[key] = start
        return True

    def next(self) -> Key | None:
        """The key that gets the next item: alternately the latest newcomer and the lowest tag.

        Without the first, a newcomer would wait for the rest of a round, which is long when many wait. It gets no more items,
        only earlier ones: its tag grows as usual. Without the second, an endless stream of newcomers would starve the others.
        """
        if self._newcomer_is_next:
            for key in self._arrived:
                if key not in self._closed:
                    return key
        while self._heap:
            tag, age, key = self._heap[0]
            if key in self._closed:
                heappop(self._heap)
            elif tag != (now := self._tags[key]):
                heapreplace(self._heap, (now, age, key))
            else:
                return key
        return None

    def give(self, key: Key, count: int = 1) -> None:
        """Charge ``key`` for ``count`` items; negative if it could not use all it was given."""
        self._tags[key] += count / self._weights[key]
        self.now += count / self._total
        if count > 0:
            self._newcomer_is_next = not self._newcomer_is_next
            self._arrived.pop(key, None)

    def close(self, key: Key) -> None:
        """Give ``key`` no more in this turn."""
        self._closed.add(key)


class PriorityLevel:
    """One priority: a line of owners, and a line of tasks for each owner."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._owners: WaitingLine[str] = WaitingLine()
        self._tasks: dict[str, WaitingLine[int]] = {}

    def shares(self, waiting: Iterable[Ready], free: int, room: Mapping[Pair, int]) -> dict[Ready, int]:
        """How many of the ``free`` slots each task gets, in the order of giving; ``room`` is per stage."""
        by_owner: dict[str, dict[int, Ready]] = {}
        for ready in sorted(waiting):
            by_owner.setdefault(ready.owner, {})[ready.task] = ready
        self._owners.begin({owner: self._weights.get(owner, 1.0) for owner in by_owner})
        if len(self._tasks) > 2 * len(by_owner) + REMEMBERED:
            self._tasks = {owner: line for owner, line in self._tasks.items() if owner in by_owner}
        for name, tasks in by_owner.items():
            self._tasks.setdefault(name, WaitingLine()).begin(dict.fromkeys(tasks, 1.0))
        left = dict(room)
        shares: dict[Ready, int] = {}
        while free > 0 and (owner := self._owners.next()) is not None:
            # With one owner there is no choice to make: give all at once.
            wanted = free if len(by_owner) == 1 else 1
            given = self._deal(owner, by_owner[owner], wanted, left, shares)
            self._owners.give(owner, given)
            free -= given
            if given < wanted:
                self._owners.close(owner)
        return shares

    def _deal(
        self, owner: str, tasks: Mapping[int, Ready], wanted: int, left: dict[Pair, int], shares: dict[Ready, int]
    ) -> int:
        """Give up to ``wanted`` slots to the tasks of one owner; returns how many were given."""
        line = self._tasks[owner]
        given = 0
        while given < wanted and (task := line.next()) is not None:
            ready = tasks[task]
            pair = (ready.pipeline, ready.stage)
            count = min(left[pair], wanted - given if len(tasks) == 1 else 1)
            if count <= 0:
                line.close(task)
                continue
            left[pair] -= count
            line.give(task, count)
            shares[ready] = shares.get(ready, 0) + count
            given += count
        return given

    def take_back(self, ready: Ready, count: int) -> None:
        """Return ``count`` unused slots of a task's share."""
        self._owners.give(ready.owner, -count)
        self._tasks[ready.owner].give(ready.task, -count)
