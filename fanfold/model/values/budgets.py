"""What may be spent, what is spent, and what is reserved for calls whose cost is not known yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say
from fanfold.model.values.money import read_amount

WARN_AT = 0.8
"""The share of a budget at which people are warned."""


@dataclass(frozen=True)
class Budget:
    """The budget of a task, in US dollars."""

    cap: float | None
    """What may be spent; None where the task has no budget."""
    spent: float
    reserved: float = 0.0
    """Reserved for calls that have been sent and not been answered yet."""
    unknown: float = 0.0
    """Reserved for calls without an answer, which the service may have charged."""
    unpriced: int = 0
    """Calls whose price is not known: the cost is at least ``spent``."""
    strict: bool = False
    """Whether each call reserves the most that it can cost."""
    allow_unknown_cost: bool = False
    """Whether models without a known price may be asked."""
    projected: float | None = None
    """What the task will have spent at its end, if the other items cost as much as those that are done; None if unknown."""

    @property
    def left(self) -> float | None:
        """What is neither spent nor reserved; None where there is no budget."""
        return None if self.cap is None else max(0.0, self.cap - self.spent - self.reserved - self.unknown)


@dataclass(frozen=True)
class BudgetWish:
    """The budget that somebody wants for a task; the cap is in billionths of a dollar."""

    cap: int
    strict: bool = False
    allow_unknown_cost: bool = False


def wish(budget: Any, *, strict: bool = False, allow_unknown_cost: bool = False) -> BudgetWish | None:
    """The wish for a budget in US dollars; None where there is none. BadInput when it is no amount, or is missing."""
    if budget is None:
        if strict or allow_unknown_cost:
            raise BadInput(say("budget_missing"))
        return None
    return BudgetWish(read_amount(budget), bool(strict), bool(allow_unknown_cost))
