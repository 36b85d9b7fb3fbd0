"""Budgets: reserve before a call, settle after it. One conditional UPDATE per scope, without a SELECT before it.

Several scopes are always locked in the order task, owner, provider, installation. A transaction locks them last, and the scope
that all workers share at the very end, so that its lock is held only for the commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.money.budget_tables import budgets
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import calls

AMOUNT = sa.BigInteger()


class BudgetRow(NamedTuple):
    """A budget, in billionths of a dollar."""

    scope: str
    cap: int
    spent: int
    reserved: int
    unknown: int
    unpriced: int
    strict: bool
    allow_unknown: bool
    is_open: bool
    """Whether a call with a reservation may still be in flight."""

    @property
    def taken(self) -> int:
        """Spent, or lost to calls whose outcome is unknown."""
        return self.spent + self.unknown


class Settled(NamedTuple):
    """A budget after the cost of a call was added."""

    scope: str
    spent: int
    cap: int


def task_scope(number: int) -> str:
    """The scope of a task's own budget."""
    return f"task:{number}"


KINDS = ("task", "owner", "provider", "all")


def in_lock_order(scopes: Iterable[str]) -> list[str]:
    """The scopes, each once, in the order in which every transaction locks them, whatever tasks they belong to."""
    known = {kind: rank for rank, kind in enumerate(KINDS)}
    return sorted(set(scopes), key=lambda scope: (known[scope.replace("@", ":").partition(":")[0]], scope))


class Budgets:
    """Verbs on budgets, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def put(
        self, scope: str, cap: int, *, strict: bool = False, allow_unknown: bool = False, task: int | None = None
    ) -> None:
        """Set the cap and the rules of a budget. A task's new budget starts with what the ledger says it has spent."""
        spent = 0 if task is None else self._spent_by(task)
        values = {"scope": scope, "task": task, "cap": cap, "spent": spent, "strict": strict}
        new = self.clock.dialect.insert(budgets).values(**values, allow_unknown=allow_unknown, set_at=self.clock.now)
        names = ("cap", "strict", "allow_unknown", "set_at")
        again = new.on_conflict_do_update(index_elements=["scope"], set_={name: new.excluded[name] for name in names})
        self.connection.execute(again)

    def _spent_by(self, task: int) -> int:
        spent = sa.select(sa.func.sum(calls.c.cost)).where(calls.c.task == task)
        return round((self.connection.execute(spent).scalar() or 0.0) * 1_000_000_000)

    def get(self, scope: str) -> BudgetRow | None:
        """One budget, if it exists."""
        return self.of([scope]).get(scope)

    def of(self, scopes: Sequence[str]) -> dict[str, BudgetRow]:
        """The given budgets that exist."""
        is_open = sa.case((budgets.c.open_until > self.clock.now, sa.true()), else_=sa.false())
        columns = [budgets.c[name] for name in BudgetRow._fields if name != "is_open"]
        found = sa.select(*columns, is_open.label("is_open")).where(budgets.c.scope.in_(scopes))
        return {row.scope: BudgetRow(**row._mapping) for row in self.connection.execute(found)}

    def reserve(self, scopes: Sequence[str], amount: int, seconds: float) -> str | None:
        """Reserve an amount in each budget, for a call that ends within ``seconds``; returns the first that is full, or None.

        If one is full the caller rolls back, and nothing is reserved in the others. An unused budget allows one call no matter
        how much it reserves, unless it is strict: otherwise a guess that is too high could lock people out.
        """
        for scope in scopes:
            if not run(self.connection, _reserve(self.clock), {"of": scope, "amount": amount, "seconds": seconds}):
                return scope
        return None

    def settle(
        self, scopes: Sequence[str], reserved: int, cost: int, *, unknown: int = 0, unpriced: int = 0
    ) -> list[Settled]:
        """Release the reservation of a call, and add what it cost, or what it may have cost."""
        values = {"amount": reserved, "cost": cost, "unknown_amount": unknown, "unpriced_calls": unpriced}
        changed = [run(self.connection, SETTLE, {"of": scope, **values}) for scope in scopes]
        return [Settled(*row) for rows in changed for row in rows]


@lru_cache(maxsize=64)
def _reserve(clock: SqlClock) -> sa.Update:
    amount = sa.bindparam("amount", type_=AMOUNT)
    until = clock.after(sa.bindparam("seconds", type_=sa.Float()))
    used = budgets.c.spent + budgets.c.unknown + budgets.c.reserved
    fits = used + amount <= budgets.c.cap
    unused = sa.and_(~budgets.c.strict, used == 0, budgets.c.cap > 0)
    later = sa.case((budgets.c.open_until > until, budgets.c.open_until), else_=until)
    return (
        sa.update(budgets)
        .where(budgets.c.scope == sa.bindparam("of"), sa.or_(fits, unused))
        .values(reserved=budgets.c.reserved + amount, open_until=later)
        .returning(budgets.c.scope)
    )


def _plus(name: str, parameter: str) -> sa.ColumnElement[Any]:
    return budgets.c[name] + sa.bindparam(parameter, type_=AMOUNT)


SETTLE = (
    sa.update(budgets)
    .where(budgets.c.scope == sa.bindparam("of"))
    .values(
        reserved=budgets.c.reserved - sa.bindparam("amount", type_=AMOUNT),
        spent=_plus("spent", "cost"),
        unknown=_plus("unknown", "unknown_amount"),
        unpriced=_plus("unpriced", "unpriced_calls"),
    )
    .returning(budgets.c.scope, budgets.c.spent, budgets.c.cap)
)
