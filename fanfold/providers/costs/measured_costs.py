"""What calls of a pipeline and model have cost so far: a histogram in memory, shared with other workers through the database.

Each answer is counted in memory at once. The counts are written to the database in blocks that grow with the number of known
calls, so the first answers are shared at once and later ones cost next to nothing. A killed process loses only the counts that
it had not shared. A call in a batch counts with what it would have cost live, so both lanes learn from each other.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fanfold.model.money.amounts import parts_of
from fanfold.model.money.questions import Usage
from fanfold.store.rows.money.usage_history import SUMS
from fanfold.store.store import Store, Transaction

STEP = 1.02
"""Ratio between the upper bounds of two neighbouring buckets."""
GROWTH = math.log(STEP)
QUANTILE = 0.95
READ_SECONDS = 10.0
"""How often the counts of other workers are read."""
SHARE_SECONDS = 5.0
"""Counts are written to the database after this time, even if the block is small."""
Key = tuple[str, str, str]
"""Pipeline, provider and model."""


def bucket_of(cost: int) -> int:
    """The bucket of a cost."""
    return 0 if cost <= 1 else math.ceil(math.log(cost) / GROWTH)


def reach_of(bucket: int) -> int:
    """The upper bound of a bucket: no call in it cost more."""
    return math.ceil(STEP**bucket)


def quantile(buckets: Iterable[tuple[int, int]], share: float) -> int | None:
    """The cost that this share of the calls did not exceed, from pairs of bucket and count; None without calls."""
    ordered = sorted((bucket, count) for bucket, count in buckets if count > 0)
    left = share * sum(count for _, count in ordered)
    for bucket, count in ordered:
        left -= count
        if left <= 1e-9:
            return reach_of(bucket)
    return None


@dataclass
class _Known:
    """What is known about one pipeline and model."""

    counts: Counter[int] = field(default_factory=Counter)
    unshared: dict[int, Counter[str]] = field(default_factory=dict)
    """Sums by bucket that the database does not have yet."""
    pending: int = 0
    read_at: float = -math.inf
    shared_at: float = -math.inf


class MeasuredCosts:
    """The costs of calls by pipeline and model, for all threads of one event loop."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._known: dict[Key, _Known] = {}
        self._excess: dict[Key, float] = {}

    def likely_most(self, key: Key) -> int | None:
        """The 95th percentile of the costs of this pipeline and model; with few calls, the highest cost. None without calls."""
        self._refresh(key)
        with self._lock:
            counts = dict(self._known[key].counts)
        return quantile(counts.items(), QUANTILE)

    def excess(self, key: Key) -> float:
        """How many times the computed maximum a call has cost so far in this process; at least 1.

        A call costs more than its maximum if its tokens were guessed too low, as with large images, or if the service did not
        keep to `max_tokens`.
        """
        return self._excess.get(key, 1.0)

    def compare(self, key: Key, computed: int, cost: float | None) -> None:
        """Note a call that cost more than its computed maximum: later calls reserve more."""
        if cost is not None and computed:
            with self._lock:
                self._excess[key] = max(self._excess.get(key, 1.0), parts_of(cost) / computed)

    def add(self, tx: Transaction, key: Key, guessed: int, row: Mapping[str, Any]) -> None:
        """Count a call whose cost is known, and write the counts to the database when they are due."""
        if row["cost"] is None:
            return
        with self._lock:
            shared = self._count(key, guessed, row)
        tx.usage_history.add([_row(key, bucket, sums) for bucket, sums in shared.items()])

    def _count(self, key: Key, guessed: int, row: Mapping[str, Any]) -> dict[int, Counter[str]]:
        """Count a call in memory; returns what is to be shared now."""
        known = self._known.setdefault(key, _Known())
        cost = parts_of(row["cost"])
        bucket = bucket_of(cost)
        known.counts[bucket] += 1
        tokens = {name: row[name] or 0 for name in ("input_tokens", "output_tokens")}
        known.unshared.setdefault(bucket, Counter()).update(calls=1, cost=cost, guessed_tokens=guessed, **tokens)
        known.pending += 1
        now = time.monotonic()
        if known.pending * 8 < known.counts.total() and now - known.shared_at < SHARE_SECONDS:
            return {}
        shared, known.unshared, known.pending, known.shared_at = known.unshared, {}, 0, now
        return shared

    def _refresh(self, key: Key) -> None:
        """Read the counts of all workers, at most every READ_SECONDS."""
        now = time.monotonic()
        with self._lock:
            known = self._known.setdefault(key, _Known())
            if now - known.read_at < READ_SECONDS:
                return
            known.read_at = now
        with self.store.read() as tx:
            found = tx.usage_history.of(*key)
        with self._lock:
            known.counts = Counter({one.bucket: one.calls for one in found})
            known.counts.update({bucket: sums["calls"] for bucket, sums in known.unshared.items()})


def history_rows(calls: Iterable[tuple[Key, int, Usage]]) -> list[dict[str, Any]]:
    """Rows for the usage history, from key, guessed tokens and usage at the live price. Calls without a price are left out."""
    found: dict[tuple[Key, int], Counter[str]] = {}
    for key, guessed, usage in calls:
        if usage.cost is not None:
            cost = parts_of(usage.cost)
            tokens = {"input_tokens": usage.input_tokens or 0, "output_tokens": usage.output_tokens or 0}
            sums = found.setdefault((key, bucket_of(cost)), Counter())
            sums.update(calls=1, cost=cost, guessed_tokens=guessed, **tokens)
    return [_row(key, bucket, sums) for (key, bucket), sums in found.items()]


def _row(key: Key, bucket: int, sums: Mapping[str, int]) -> dict[str, Any]:
    pipeline, provider, model = key
    return {
        "pipeline": pipeline,
        "provider": provider,
        "model": model[:200],
        "bucket": bucket,
        **{name: sums.get(name, 0) for name in SUMS},
    }
