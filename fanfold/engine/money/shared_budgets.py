"""Reads `[budgets]` of fanfold.toml, again whenever it has changed: a raised budget takes effect without a restart."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from fanfold.errors import BadInput
from fanfold.model.money.shared_budgets import SharedBudgets, read
from fanfold.settings import tables
from fanfold.store.rows.money.budgets import BudgetRow, task_scope
from fanfold.store.store import Transaction

log = logging.getLogger("fanfold.budgets")


class BudgetFile:
    """The current `[budgets]` of fanfold.toml."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path.cwd()
        self._stamp: tuple[int, int] | None = (-1, -1)
        self._refused: tuple[int, int] | None = None
        self._read = SharedBudgets()

    def current(self) -> SharedBudgets:
        """The budgets, read again when the file has changed; BadInput if it cannot be understood."""
        stamp = self._stamp_now()
        if stamp != self._stamp:
            self._read, self._stamp = read(tables(self.folder).get("budgets", {})), stamp
        return self._read

    def last_good(self) -> SharedBudgets:
        """The budgets as of the last time that they could be understood: for costs that have arisen already."""
        try:
            return self.current()
        except BadInput as problem:
            if self._refused != (stamp := self._stamp_now()):
                log.warning("%s Costs that handlers report count in the budgets that were set before", problem.message)
                self._refused = stamp
            return self._read

    def _stamp_now(self) -> tuple[int, int] | None:
        try:
            found = (self.folder / "fanfold.toml").stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size


@cache
def _file(folder: Path) -> BudgetFile:
    return BudgetFile(folder)


def shared_budgets() -> SharedBudgets:
    """The shared budgets in which costs that handlers report themselves count now."""
    return _file(Path.cwd()).last_good()


def used_up_budget(tx: Transaction, number: int, owner: str) -> BudgetRow | None:
    """The first budget that a task with costs of its own has used up, or may have; None if there is room in all."""
    shared = shared_budgets().scopes(owner, None, utc_now())
    found = tx.budgets.of([task_scope(number), *shared])
    for scope in (task_scope(number), *shared):
        if (row := found.get(scope)) is not None:
            row = row._replace(cap=shared.get(scope, row.cap))  # The stored cap is as old as the last cost.
            if row.taken >= row.cap:
                return row
    return None


def utc_now() -> datetime:
    """The current UTC time, which decides the day or month of a budget."""
    return datetime.now(UTC)
