"""Counts the items of a task before its lock is taken.

A count reads every item of the task: 0.1 to 0.3 s for 600 000 items. SQLite has one lock for all writers, so every other worker
would wait for a count made under it. So items are counted in a read transaction. Under the lock, a few rows show whether the
counts still hold; if not, nothing is decided and the items are counted again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from fanfold.engine.tasks.many_items.leftovers import NotReady
from fanfold.engine.tasks.many_items.reset_items import is_same
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.plan import Kind, PlannedStage
from fanfold.model.progress import Counts
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.model.verdict import Verdict, verdict
from fanfold.store.store import Transaction

COPIED = "copied "
"""Prefix of the token of a complete copy; the task's newest event follows."""


class OutOfDate(NotReady):
    """The task has moved since its items were counted."""

    def __init__(self, task: int) -> None:
        super().__init__("the task has moved since its items were counted")
        self.task = task


@dataclass(frozen=True)
class Ahead:
    """Counts made before a task's lock is taken, with the means to check whether they still hold."""

    row: TaskRow
    event: int
    counts: Mapping[str, Counts]
    copied: Mapping[str, Counts] = field(default_factory=dict)
    """Stages into which all items were copied but are still hidden."""
    begun: frozenset[str] = frozenset()
    """Copied stages with an item that was ever claimed."""
    why: Mapping[str, str] = field(default_factory=dict)
    """Per stage, why most of its items failed, if that ends the task."""

    @property
    def decision(self) -> Verdict:
        """The verdict on the task's current stage."""
        return verdict(self.row.plan.stage(self.row.stage), self.counts.get(self.row.stage, Counts()))

    def still_holds(self, tx: Transaction, row: TaskRow) -> bool:
        """Whether the task, whose lock is held, has not moved since.

        If so, no settled item has changed: only moves reset or remove items, and only a running item adds others. The newest
        event shows a move even if the clock stands still; the row shows it even if PostgreSQL commits events in another
        order than their numbers.
        """
        return is_same(self.row, row) and not tx.events.moved_since(row.number, self.event)


def count_ahead(tx: Transaction, row: TaskRow) -> Ahead:
    """Count the items of a task that was read in this transaction."""
    number = row.number
    event = tx.events.last(number)  # Read first: on PostgreSQL each statement sees what was committed before it.
    counts = tx.counting.counts([number]).get(number, {})
    hidden = [draft.stage for draft in tx.drafts.hidden(number).values() if draft.token.startswith(COPIED)]
    planned = [stage for stage in row.plan.stages if stage.name in hidden]
    copied = {stage.name: tx.counting.of_stage(number, stage.name, hidden=True) for stage in planned}
    gates = [stage.name for stage in planned if stage.gate]
    begun = frozenset(stage for stage in gates if tx.items.have_begun(number, stage, hidden=True))
    looked_at = {row.stage: counts.get(row.stage, Counts()), **copied}
    over = [name for name, here in looked_at.items() if verdict(row.plan.stage(name), here) is Verdict.FAILED]
    why = {name: most_frequent(tx, row, name, hidden=name in copied) for name in over}
    return Ahead(row, event, counts, copied, begun, why)


def most_frequent(tx: Transaction, row: TaskRow, stage: str, *, hidden: bool = False) -> str:
    """Why most of the failed items of a stage failed. May read all of them."""
    found = tx.reading.failures(row.number, 1, stage, hidden=hidden)
    return next(((message or code) for _, code, message, _ in found), say("unknown_reason"))


class StageCounts:
    """The counts of a task's stages under its lock: made ahead for stages with many items, and fresh for the others.

    OutOfDate if the task has moved since they were made. Without counts made ahead, all are fresh.
    """

    def __init__(self, tx: Transaction, row: TaskRow, ahead: Ahead | None, event: int | None = None) -> None:
        if ahead is not None and not ahead.still_holds(tx, row):
            raise OutOfDate(row.number)
        self.tx = tx
        self.row = row
        self.ahead = ahead
        self.event = event
        """The task's newest event before this transaction, if the transaction adds events before the task moves."""
        self._entered: dict[str, Counts] = {}

    def of(self, stage: str) -> Counts:
        """The counts of one stage."""
        if stage in self._entered:
            return self._entered[stage]
        if self.ahead is not None and self.row.plan.stage(stage).kind is Kind.EACH:
            return self.ahead.counts.get(stage, Counts())
        return self.tx.counting.of_stage(self.row.number, stage)

    def just_entered(self, stage: str) -> Counts:
        """The same for a stage whose items were created or became visible in this transaction. Many were copied ahead."""
        known = None if self.ahead is None else self.ahead.copied.get(stage)
        self._entered[stage] = self.tx.counting.of_stage(self.row.number, stage) if known is None else known
        return self._entered[stage]

    def given_up(self, stage: str, count: int) -> None:
        """Record that ``count`` items of the stage failed in this transaction and none is open any more.

        If these are all the items that were open when counted, the others were settled then and still are. Otherwise OutOfDate.
        """
        here = self.of(stage)
        if self.ahead is not None and here.total - here.settled != count:
            raise OutOfDate(self.row.number)
        if self.ahead is not None:
            settled = {ItemState.DONE: here[ItemState.DONE], ItemState.FAILED: here[ItemState.FAILED] + count}
            self._entered[stage] = Counts({state: many for state, many in settled.items() if many})

    def all(self) -> dict[str, Counts]:
        """The counts of every planned stage."""
        return {stage.name: self.of(stage.name) for stage in self.row.plan.stages}

    def have_begun(self, stage: str) -> bool:
        """Whether any item of a stage that is about to be entered was ever claimed."""
        if self.ahead is not None and stage in self.ahead.copied:
            return stage in self.ahead.begun
        return self.tx.items.have_begun(self.row.number, stage)

    def missing(self, until: str | None) -> int:
        """How many items are missing in all phases before a stage that starts now, or (None) in the result."""
        missing = 0
        for chain in self.row.plan.chains(until):
            # An item that failed early does not exist in the later stages of its chain, so it is missing only once.
            entered = [counts for name in chain if (counts := self.of(name)).total]
            missing += entered[0].total - entered[-1][ItemState.DONE] if entered else 0
        return missing

    def why(self, stage: PlannedStage) -> str:
        """Why a stage failed, as text."""
        known = None if self.ahead is None else self.ahead.why.get(stage.name)
        return most_frequent(self.tx, self.row, stage.name) if known is None else known


@dataclass(frozen=True)
class Begun:
    """Whether any item of a task has started since its last retry or rerun, as found before its lock is taken."""

    row: TaskRow
    since: datetime | None
    item: int | None

    @classmethod
    def look(cls, tx: Transaction, row: TaskRow) -> Begun:
        """Find an item that has started since. May read all items and events of the task."""
        since = tx.events.last_at(row.number, ("retry", "rerun"))
        return cls(row, since, None if since is None else tx.items.begun_since(row.number, since))

    def is_so(self, tx: Transaction, row: TaskRow) -> bool:
        """Whether that still holds, under the task's lock.

        If an item was found, only that item is read again. If none was found and the task was active, one may have been
        claimed since: only then are all items read.
        """
        if not is_same(self.row, row):
            raise OutOfDate(row.number)
        if self.since is None or (self.item is None and self.row.state is not TaskState.ACTIVE):
            return False
        return tx.items.begun_since(row.number, self.since, self.item) is not None
