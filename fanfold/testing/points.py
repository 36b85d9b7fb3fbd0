"""Points of a run at which a test makes something happen: a crash, a pause, a cancel, a retry, or a function of its own.

engine.before_settle(item="003").crash()
engine.after_settle(stage="translate", count=3).pause()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fanfold.model.item import Claimed
from fanfold.model.plan import Kind
from fanfold.model.task import TaskRow

if TYPE_CHECKING:
    from fanfold.testing.engine import Engine

BEFORE_HANDLER, BEFORE_SETTLE, AFTER_SETTLE = "before_handler", "before_settle", "after_settle"


class WorkerCrashed(BaseException):
    """Ends a worker in the middle of its work. Not an Exception, so no handler catches it by accident."""


@dataclass
class Point:
    """One point of a run, and what happens there. Without an action, nothing happens."""

    engine: Engine
    moment: str
    stage: str | None
    item: str | None
    count: int
    times: int
    _reached: int = 0
    _action: Callable[[TaskRow], object] | None = None

    def crash(self) -> None:
        """The worker dies here: nothing more is written, and its items run again after its lease has expired."""
        self._action = lambda row: self.engine.crash()

    def pause(self, reason: str | None = None) -> None:
        """A person pauses the task."""
        self._action = lambda row: self.engine.client.pause(row.id, reason)

    def cancel(self, reason: str | None = None) -> None:
        """A person cancels the task."""
        self._action = lambda row: self.engine.client.cancel(row.id, reason)

    def retry(self, items: Sequence[str] | None = None) -> None:
        """A person retries what failed, or the named items."""
        self._action = lambda row: self.engine.client.retry(row.id, items)

    def call(self, function: Callable[[], object]) -> None:
        """Call a function of the test."""
        self._action = lambda row: function()

    def reach(self, moment: str, row: TaskRow, claimed: Claimed) -> None:
        """Run the action if this is the point."""
        if self._action is None or moment != self.moment or not self._is_meant(row, claimed):
            return
        self._reached += 1
        if self.count <= self._reached < self.count + self.times:
            self._action(row)

    def _is_meant(self, row: TaskRow, claimed: Claimed) -> bool:
        """Without a stage, this applies to the items of `each` stages, or to every step in a pipeline without one."""
        if self.item is not None and claimed.key != self.item:
            return False
        if self.stage is not None:
            return claimed.stage == self.stage
        has_each = any(stage.kind is Kind.EACH for stage in row.plan.stages)
        return not has_each or row.plan.stage(claimed.stage).kind is Kind.EACH
