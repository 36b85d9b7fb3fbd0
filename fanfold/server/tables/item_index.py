"""An index of a task's outputs, kept in memory, so that filters and counts need not read outputs.

Each request updates the index first, and spends a limited time on reading new outputs. The answer says how many outputs
are still unread, and the next request continues with them.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fanfold.engine.queries.lookup import Lookup
from fanfold.engine.queries.results.task_result import decision_of
from fanfold.model.decision import Decision, DecisionVerdict
from fanfold.model.plan import Kind, Plan
from fanfold.model.task import TaskRow
from fanfold.store.items.query import ItemRow
from fanfold.store.rows.decisions import DecisionFilter
from fanfold.store.store import Store, Transaction

MOST_ITEMS = 20_000
"""Maximum items in one index; of a longer list, only the first are shown."""
LOOK_SECONDS = 0.5
"""Maximum time that one request spends on reading outputs."""
REST_SHARE = 5.0
"""Pause after listing all items, in multiples of the time that the listing took."""
READ_AT_ONCE = 50
LISTED_AT_ONCE = 2_000
DECISIONS_AT_ONCE = 5_000
Row = TypeVar("Row")


@dataclass
class IndexedItem(Generic[Row]):
    """An item in the index: its state, and its rows once its output was read."""

    seq: int
    key: str
    stage: str
    state: str
    lease: int
    error: str | None
    rows: list[Row] = field(default_factory=list)
    is_read: bool = False

    @property
    def mark(self) -> tuple[str, str, int]:
        """Changes when the item has another output."""
        return self.stage, self.state, self.lease


class ItemIndex(ABC, Generic[Row]):
    """The index of one task. Hold ``lock`` while using it."""

    def __init__(self, store: Store, row: TaskRow) -> None:
        self.lock = threading.Lock()
        self.store = store
        self.number = row.number
        self.stages = chain_of(row.plan)
        self.items: dict[int, IndexedItem[Row]] = {}
        self.decisions: dict[tuple[str, str], Decision] = {}
        self.is_cut = False
        self.version = 0
        """Grows whenever the rows may have changed; decisions do not change rows."""
        self._last_decision = 0
        self._seen: Any = None
        self._listed_at = 0.0
        self._rest = 0.0

    @property
    def stage(self) -> str:
        """The stage whose outputs are shown."""
        return self.stages[-1]

    @property
    def unread(self) -> int:
        """How many outputs are still to be read."""
        return sum(not item.is_read for item in self.items.values())

    def look(self, seconds: float = LOOK_SECONDS) -> None:
        """Update the index as far as the time limit allows."""
        end = time.monotonic() + seconds
        with self.store.read() as tx:
            mark = self._mark(tx)
            if mark != self._seen and time.monotonic() >= self._listed_at + self._rest:
                self._list(tx)
                self._seen = mark
            self._read_decisions(tx)
        waiting = sorted(item.seq for item in self.items.values() if not item.is_read)
        while waiting:
            waiting = self._read_some(waiting)
            if time.monotonic() >= end:
                return

    def _mark(self, tx: Transaction) -> Any:
        """A mark that changes whenever items change: a retry adds an event, and everything else changes the counts."""
        latest = tx.events.latest_of(self.number, None, 1)
        counts = tx.counting.counts([self.number]).get(self.number, {})
        return latest[0].id if latest else 0, {
            name: dict(counts[name].by_state) for name in self.stages if name in counts
        }

    def _list(self, tx: Transaction) -> None:
        """List all items with their states; outputs are read later."""
        begun = time.monotonic()
        found: dict[int, ItemRow] = {}
        for stage in self.stages:
            for row in self._items_of(tx, stage):
                # A failed item does not exist in later stages, so the stage where it failed tells why.
                found[row.seq] = row
        items: dict[int, IndexedItem[Row]] = {
            seq: IndexedItem(seq, row.key, row.stage, row.state, row.lease, row.error_message)
            for seq, row in sorted(found.items())
        }
        for seq, item in items.items():
            known = self.items.get(seq)
            if known is not None and known.mark == item.mark:
                items[seq] = known
        if items.keys() != self.items.keys() or any(item is not self.items[seq] for seq, item in items.items()):
            self.version += 1
        self.items = items
        self._rest = (time.monotonic() - begun) * REST_SHARE
        self._listed_at = time.monotonic()

    def _items_of(self, tx: Transaction, stage: str) -> Iterator[ItemRow]:
        after = 0
        while after < MOST_ITEMS:
            rows = tx.reading.results(self.number, stage, after, LISTED_AT_ONCE, bodies=False)
            yield from (row for row in rows if row.seq <= MOST_ITEMS)
            if len(rows) < LISTED_AT_ONCE:
                return
            after = rows[-1].seq
        self.is_cut = True

    def _read_decisions(self, tx: Transaction) -> None:
        while True:
            wanted = DecisionFilter(stage=self.stage, history=True)
            rows = tx.decisions.page(self.number, wanted, self._last_decision, DECISIONS_AT_ONCE)
            for row in rows:
                one = decision_of(row)
                self._note(one)
                self._last_decision = one.number
            if len(rows) < DECISIONS_AT_ONCE:
                return

    def _note(self, decision: Decision) -> None:
        """Remember a decision; they come in the order in which they were made."""
        if decision.verdict is DecisionVerdict.UNDO:
            self.decisions.pop((decision.item, decision.part), None)
        else:
            self.decisions[decision.item, decision.part] = decision

    def _read_some(self, waiting: Sequence[int]) -> list[int]:
        """Read the outputs of the next items; returns the items still unread."""
        some = [self.items[seq] for seq in waiting[:READ_AT_ONCE]]
        for row in self.bodies(some):
            self._learn(self.items[row.seq], row)
        for item in some:  # An item that was removed since it was listed has no rows.
            item.is_read = True
        self.version += 1
        return list(waiting[READ_AT_ONCE:])

    def bodies(self, items: Iterable[IndexedItem[Row]]) -> Iterator[ItemRow]:
        """The inputs and outputs of these items."""
        keys: dict[str, list[str]] = defaultdict(list)
        for item in items:
            keys[item.stage].append(item.key)
        for stage, some in keys.items():
            with self.store.read() as tx:
                yield from tx.reading.page(self.number, stage=stage, keys=some, limit=len(some))

    @abstractmethod
    def _learn(self, item: IndexedItem[Row], row: ItemRow) -> None:
        """Set the rows of an item from its input and output."""


def chain_of(plan: Plan) -> list[str]:
    """The last consecutive `each` stages; the items of the last one have the records."""
    names = [stage.name for stage in plan.stages if stage.kind is Kind.EACH]
    return [*plan.leading_to(names[-1]), names[-1]] if names else [plan.stages[-1].name]


Index = TypeVar("Index", bound=ItemIndex[Any])


class TaskIndexes(Generic[Index]):
    """The indexes of the most recently viewed tasks."""

    KEPT = 8

    def __init__(self, store: Store, make: Callable[[Store, TaskRow], Index]) -> None:
        self._store = store
        self._make = make
        self._lock = threading.Lock()
        self._kept: dict[tuple[int, int, tuple[str, ...]], Index] = {}

    def of(self, look: Lookup, task_id: str) -> Index:
        """The index of a task that the caller may see."""
        row = look.row(task_id)
        key = (row.number, row.generation, tuple(chain_of(row.plan)))
        with self._lock:
            found = self._kept.pop(key, None) or self._make(self._store, row)
            self._kept[key] = found
            while len(self._kept) > self.KEPT:
                del self._kept[next(iter(self._kept))]
        return found
