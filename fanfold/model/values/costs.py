"""The books: what calls to models have cost, added up by task, model, day, owner, provider or pipeline."""

from __future__ import annotations

from dataclasses import dataclass, fields

GROUPS = ("task", "model", "day", "owner", "provider", "pipeline")


@dataclass(frozen=True)
class CostRow:
    """The calls of one task, model, day … added up; costs are in US dollars, and parts of ``cost`` are told apart."""

    name: str
    """The task's id, `provider:model`, the day in UTC, the owner, the provider or the pipeline."""
    calls: int = 0
    """Calls that were answered."""
    cost: float = 0.0
    unpriced: int = 0
    """Answered calls whose price is not known: they are not in ``cost``."""
    possibly_paid: int = 0
    """Calls without an answer, which the service may have charged: they are not in ``cost``."""
    cached: int = 0
    """Questions that kept answers have saved."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Of the input tokens, those that the service had in its own cache and charges less for."""
    fallbacks: float = 0.0
    """The cost of calls to a later model of the chain."""
    retries: float = 0.0
    """The cost of calls of attempts after the first, and of calls that repeat a question after a bad answer."""
    bad_answers: float = 0.0
    """The cost of answers that could not be taken."""


def total_of(rows: list[CostRow]) -> CostRow:
    """All rows added up."""
    sums = {
        field.name: sum(getattr(row, field.name) for row in rows) for field in fields(CostRow) if field.name != "name"
    }
    return CostRow("total", **sums)
