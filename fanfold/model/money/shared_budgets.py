"""The budgets that an installation sets for everybody: `[budgets]` of fanfold.toml, by owner, provider and day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.money.amounts import read_amount
from fanfold.model.text.sentences import say

PERIODS = {"day": "%Y-%m-%d", "month": "%Y-%m"}
MEANINGS = {
    "day": "What all calls together may cost per day (UTC).",
    "owner": "What the tasks of each owner without a line under `[budgets.owners]` may cost.",
    "owners": "`[budgets.owners]`: what the tasks of particular owners may cost.",
    "providers": "`[budgets.providers]`: what the calls to particular providers may cost.",
    "strict": "Whether each call reserves the most that it can cost, in these budgets.",
    "allow_unknown_cost": "Whether models without a known price may be asked even if a budget is set.",
}


@dataclass(frozen=True)
class Cap:
    """An amount, in total or for each day or month."""

    amount: int
    period: str | None = None

    def time_of(self, moment: datetime) -> str:
        """The day or month of a moment; empty if the amount is for all time."""
        return "" if self.period is None else moment.strftime(PERIODS[self.period])


@dataclass(frozen=True)
class SharedBudgets:
    """The parsed `[budgets]` table."""

    day: Cap | None = None
    owner: Cap | None = None
    owners: Mapping[str, Cap] = field(default_factory=dict)
    providers: Mapping[str, Cap] = field(default_factory=dict)
    strict: bool = False
    allow_unknown_cost: bool = False

    def scopes(self, owner: str, provider: str | None, moment: datetime) -> dict[str, int]:
        """Scope → cap for every budget that applies to a call, in the order in which they are locked.

        Without a provider: those that apply to a cost that a handler reports itself.
        """
        caps = (
            ("owner", owner, self.owners.get(owner, self.owner)),
            ("provider", provider, None if provider is None else self.providers.get(provider)),
            ("all", "", self.day),
        )
        return {f"{kind}@{cap.time_of(moment)}:{name}": cap.amount for kind, name, cap in caps if cap is not None}


def whose(scope: str) -> str:
    """Name the budget of a scope, as part of a sentence."""
    place, _, who = scope.partition(":")
    kind, _, time = place.partition("@")
    if kind == "all":
        return say("budget_of_day", day=time)
    if kind == "owner":
        return say("budget_of_owner_in", name=who, time=time) if time else say("budget_of_owner", name=who)
    return say("budget_of_provider_in", name=who, time=time) if time else say("budget_of_provider", name=who)


def read(given: Mapping[str, Any]) -> SharedBudgets:
    """Parse and check `[budgets]`; BadInput names what is wrong."""
    if unknown := sorted(set(given) - set(MEANINGS)):
        raise BadInput(say("budgets_unknown", names=unknown, known=list(MEANINGS)))
    for name in ("owners", "providers"):
        if not isinstance(given.get(name, {}), Mapping):
            raise BadInput(say("budgets_no_table", name=name))
    return SharedBudgets(
        day=None if given.get("day") is None else Cap(read_amount(given["day"]), "day"),
        owner=None if given.get("owner") is None else _cap(given["owner"]),
        owners={name: _cap(value) for name, value in given.get("owners", {}).items()},
        providers={name: _cap(value) for name, value in given.get("providers", {}).items()},
        strict=bool(given.get("strict", False)),
        allow_unknown_cost=bool(given.get("allow_unknown_cost", False)),
    )


def _cap(value: Any) -> Cap:
    """Parse `20` or `"20 per day"`."""
    amount, mark, period = str(value).partition(" per ")
    if mark and period.strip() not in PERIODS:
        raise BadInput(say("budgets_period", value=value, known=list(PERIODS)))
    return Cap(read_amount(amount if mark else value), period.strip() or None)
