"""Fair shares between owners, and then between the tasks of an owner, by virtual time.

Everyone who waits has a tag, which is its own virtual time. The next item goes to the lowest tag, and that tag grows by 1
divided by the weight. So equal tasks take turns, and an owner of weight 3 gets three items for each item of an owner of weight 1.
Nothing has to be forgotten: a newcomer, or a task that comes back, starts near the time of those who wait, without debt or
credit. That time grows with every item given, including those given to newcomers, so an endless stream of small tasks cannot
keep a huge one waiting.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from heapq import heapify, heappop, heapreplace
from typing import Generic, TypeVar

from fanfold.store.items.find_work import Pair, Ready

Key = TypeVar("Key", bound=Hashable)
REMEMBERED = 1_000
"""Tags kept of those who do not wait now, before the ones that no longer matter are dropped."""


class WaitingLine(Generic[Key]):
    """Those who wait for the same slots."""

    def __init__(self) -> None:
        self.now = 0.0
        """The virtual time of the line: each item given adds its share of the total weight."""
        self._tags: dict[Key, float] = {}
        self._weights: dict[Key, float] = {}
        self._total = 0.0
        self._arrived: dict[Key, None] = {}
        """Newcomers that have not got an item yet: who came last first, and of those who came together the oldest."""
        self._newcomer_is_next = True
        self._closed: set[Key] = set()
        self._heap: list[tuple[float, int, Key]] = []

    def begin(self, waiting: Mapping[Key, float]) -> None:
        """Start a turn: everyone who waits now, oldest first, with their weights."""
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
        """Start one item before the line's time, unless this one had more than that before; whether it is a newcomer."""
        start = self.now - 1.0 / weight
        if self._tags.get(key, start) > start:
            return False
        self._tags[key] = start
        return True

    def next(self) -> Key | None:
        """Who gets the next item: alternately the latest newcomer and the lowest tag.

        Without the first, a newcomer would wait for the rest of a round, which is long when many wait. It gets nothing extra,
        only earlier: its tag grows as everyone's does. Without the second, newcomers without end would go before the others.
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
        """So many items for ``key``; fewer than 0 when it could not use all it was given."""
        self._tags[key] += count / self._weights[key]
        self.now += count / self._total
        if count > 0:
            self._newcomer_is_next = not self._newcomer_is_next
            self._arrived.pop(key, None)

    def close(self, key: Key) -> None:
        """It can get no more in this turn."""
        self._closed.add(key)


class Level:
    """Everything of one priority: the owners in a line, and the tasks of each owner in a line."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._owners: WaitingLine[str] = WaitingLine()
        self._tasks: dict[str, WaitingLine[int]] = {}

    def shares(self, waiting: Iterable[Ready], free: int, room: Mapping[Pair, int]) -> dict[Ready, int]:
        """How many of the ``free`` slots each task gets, in the order in which they were given; ``room`` is per stage."""
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
            # With one owner there is nothing to choose between: all at once.
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
        """Give up to ``wanted`` slots to the tasks of one owner; returns how many could be given."""
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
        """The task had so many items fewer than its share."""
        self._owners.give(ready.owner, -count)
        self._tasks[ready.owner].give(ready.task, -count)
