"""The blocks that a process has leased from the limits of one key, and what is left of them.

A key is an account and a model. A block is an amount of requests or tokens that the process may use without asking the
database again. A visit is one transaction on the rows of a key.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fanfold.model.money.rate_limits import BLOCK_SECONDS, DAY_SECONDS, PER_MINUTE, RATED, Dimension, Level, Refill
from fanfold.providers.limits.need import Need
from fanfold.store.rows.money.rate_limits import Taken

JITTER_SECONDS = 0.01
VISIT_SECONDS = 0.25
"""Waiting calls let a bucket refill for this long before a visit: they wait anyway, and fewer visits are needed."""
WORTH_A_VISIT = 0.75
"""Share of a full bucket that is always enough for a visit."""


@dataclass
class Block:
    """What is left of a leased block."""

    amount: float = 0.0
    until: float = 0.0
    owed: float = 0.0
    """What answers used less than estimated, to be given back with the next visit; negative if they used more."""
    was_granted: bool = False
    """Whether the last visit was granted anything."""

    def left(self, now: float) -> float:
        """What may still be used; 0 once the block has expired."""
        return self.amount if now <= self.until else 0.0


class Blocks:
    """One block for each dimension that is known to be limited."""

    def __init__(self) -> None:
        self.levels: dict[Dimension, Level] = {}
        """The rows as last read. A dimension without a row is not limited."""
        self._blocks = {dimension: Block() for dimension in RATED}
        self._seen_at = 0.0
        self._jitter = 0.0

    @property
    def knows_rate(self) -> bool:
        """Whether any limit per minute is known."""
        return any(dimension in self.levels for dimension in PER_MINUTE)

    def _limited(self) -> Iterable[tuple[Dimension, Level, Block]]:
        return ((d, level, self._blocks[d]) for d, level in self.levels.items() if d in self._blocks)

    def cover(self, need: Need, now: float) -> bool:
        """Whether the blocks have what a call needs."""
        return all(block.left(now) >= need[dimension] for dimension, _, block in self._limited())

    def take(self, need: Need) -> None:
        """Take what a call needs from the blocks."""
        for dimension, _, block in self._limited():
            block.amount -= need[dimension]

    def settle(self, need: Need, used: Need) -> None:
        """A call is over: settle the difference between its estimate and what it used.

        A request that was not sent can be used again only while its block lasts, because the window moves on.
        """
        for dimension, _, block in self._limited():
            spare = need[dimension] - used[dimension]
            if dimension is Dimension.REQUESTS:
                block.amount += spare
            else:
                block.owed += spare

    def refills(self, needs: Sequence[Need], speed: float, now: float) -> tuple[Refill, ...]:
        """Refills of what is short for the first of these calls: enough for all, and for those expected within a second.

        The rest of the last block is given back with it, so that nothing is used after its block has expired.
        """
        found = []
        for dimension, _, block in self._limited():
            head = needs[0][dimension] if needs else 0.0
            if block.left(now) < head:
                wanted = sum(need[dimension] for need in needs) + speed * head * BLOCK_SECONDS
                found.append(Refill(dimension, head, wanted, block.left(now) + block.owed))
                block.amount = block.owed = 0.0
        return tuple(found)

    def note(
        self, taken: Mapping[Dimension, Taken], levels: Mapping[Dimension, Level] | None, sent_at: float, now: float
    ) -> None:
        """Store the result of a visit. A block's time starts when it was asked for, which was before it was granted."""
        if levels is not None:
            self.levels = dict(levels)
        for dimension, (granted, level) in taken.items():
            if levels is None:
                self.levels[dimension] = replace(self.levels[dimension], level=level)
            lasts = DAY_SECONDS if dimension is Dimension.REQUESTS_DAY else BLOCK_SECONDS
            self._blocks[dimension].was_granted = granted > 0
            self._blocks[dimension].amount += granted
            self._blocks[dimension].until = sent_at + lasts
        if taken or levels is not None:
            self._seen_at, self._jitter = now, random.uniform(0, JITTER_SECONDS)

    def used_up_day(self, now: float) -> float:
        """Seconds until there is a new daily quota; 0 if the quota is not used up."""
        day = self.levels.get(Dimension.REQUESTS_DAY)
        if day is None or day.level >= 1 or self._blocks[day.dimension].left(now) >= 1:
            return 0.0
        return max(1.0, day.closed_seconds - (now - self._seen_at))

    def seconds_until(self, needs: Sequence[Need], now: float, others: int = 0) -> float | None:
        """Seconds until the rows probably have a block that is worth a visit; None if nothing is short for the first call.

        If many calls wait, a visit waits for most of a full bucket: one visit per call would cost as much as no blocks at all.
        If the bucket cannot hold one call for each of the ``others`` that wait, the process that was granted the last call lets
        them go first. So the processes take turns, instead of all visiting for the same call.
        """
        waits = []
        for dimension, level, block in self._limited():
            head = needs[0][dimension]
            if level.rate > 0 and block.left(now) < head:
                some = max(sum(need[dimension] for need in needs), VISIT_SECONDS * level.rate)
                wanted = min(some, WORTH_A_VISIT * level.burst)
                target = max(min(head, level.burst), wanted)
                if block.was_granted and level.burst < head * (1 + others):
                    target = head * (1 + others)
                waits.append((target - level.level) / level.rate - (now - self._seen_at))
        return max(0.0, max(waits) + self._jitter) if waits else None

    def seconds_behind(self, needs: Iterable[Need], need: Need, processes: int) -> float:
        """How long a call waits behind others, if every process wants as much as this one."""
        ahead = [*needs, need]
        waits = [
            (sum(one[dimension] for one in ahead) - level.burst) * processes / level.rate
            for dimension, level, _ in self._limited()
            if level.rate > 0
        ]
        return max(waits, default=0.0)

    def leftovers(self, now: float) -> tuple[Refill, ...]:
        """Empty all blocks, and return what was left in them, to be given back."""
        left = {dimension: block.left(now) + block.owed for dimension, _, block in self._limited()}
        self._blocks = {dimension: Block() for dimension in RATED}
        return tuple(Refill(dimension, 0.0, 0.0, amount) for dimension, amount in left.items() if amount)
