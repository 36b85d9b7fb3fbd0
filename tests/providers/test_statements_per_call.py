"""Counts the statements per call for budgets, limits and the ledger, on a manual clock."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.providers.test_found_rate import Run

MONEY = ("budgets", "usage_history", "rate_limit")


@dataclass
class Counted:
    """The statements that were sent inside `counted()`."""

    texts: list[str] = field(default_factory=list)

    def of(self, *tables: str) -> int:
        """How many of them use one of these tables."""
        return sum(any(table in text for table in tables) for text in self.texts)


@contextmanager
def counted() -> Iterator[Counted]:
    """Count the statements of all engines."""
    found = Counted()

    def note(*given: Any) -> None:
        found.texts.append(given[2])

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)


def test_budget_and_limits_cost_less_than_three_statements_per_call(database_url: str, tmp_path: Path) -> None:
    run = Run(database_url, tmp_path / "data", tells=True, per_minute=6_000, budget=1_000)
    with counted() as statements:
        run.last(6)
    calls = run.limit.allowed
    assert calls > 150
    each = {name: statements.of(name) / calls for name in MONEY} | {"all": len(statements.texts) / calls}
    assert sum(each[name] for name in MONEY) < 3, each
    assert each["budgets"] >= 1.8, "each call reserves and settles"


@pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
def test_processes_that_wait_for_a_slow_limit_seldom_visit_its_rows(database_url: str, tmp_path: Path) -> None:
    run = Run(database_url, tmp_path / "data", tells=True, per_minute=60)
    with counted() as statements:
        run.last(120)
    assert run.limit.allowed >= 0.9 * 120, "and yet nearly all of it is used"
    assert run.visits < 2 * run.limit.allowed, statements.of("rate_limit")
