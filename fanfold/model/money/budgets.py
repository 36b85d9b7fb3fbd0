"""Budgets: what may be spent, what is spent, and what is reserved for calls whose cost is not known yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.money.amounts import read_amount
from fanfold.model.text.sentences import Sentence, say

USED_UP = ("budget_spent", "budget_spent_own", "budget_spent_unknown", "budget_too_small", "subtask_exceeds_budget")
"""Codes of the reasons for which a task is paused until its budget is raised."""
WARN_AT = 0.8
"""Share of a budget at which people are warned."""


@dataclass(frozen=True)
class Budget:
    """The budget of a task, in US dollars."""

    cap: float | None
    """What may be spent; None if the task has no budget."""
    spent: float
    reserved: float = 0.0
    """Reserved for calls that are in flight."""
    unknown: float = 0.0
    """Reserved for calls without an answer, which the service may have charged."""
    unpriced: int = 0
    """Calls whose price is not known: the cost is at least ``spent``."""
    strict: bool = False
    """Whether each call reserves the most that it can cost."""
    allow_unknown_cost: bool = False
    """Whether models without a known price may be asked."""
    projected: float | None = None
    """Expected cost at the end of the task, if the other items cost as much as those that are done; None if unknown."""

    @property
    def left(self) -> float | None:
        """What is neither spent nor reserved; None without a budget."""
        return None if self.cap is None else max(0.0, self.cap - self.spent - self.reserved - self.unknown)


@dataclass(frozen=True)
class BudgetWish:
    """The budget that a person asks for; the cap is in billionths of a dollar."""

    cap: int
    strict: bool = False
    allow_unknown_cost: bool = False


def wish(budget: Any, *, strict: bool = False, allow_unknown_cost: bool = False) -> BudgetWish | None:
    """The budget that was asked for, in US dollars; None if there is none. BadInput if the amount is invalid or missing."""
    if budget is None:
        if strict or allow_unknown_cost:
            raise BadInput(say("budget_missing"))
        return None
    return BudgetWish(read_amount(budget), bool(strict), bool(allow_unknown_cost))


def waits_for_budget(wait_reason: str | None) -> bool:
    """Whether a task waits until its budget is raised, judged by why it waits."""
    if not isinstance(wait_reason, Sentence):
        return False
    why = wait_reason.parameters.get("why")
    return isinstance(why, dict) and why["code"] in USED_UP
