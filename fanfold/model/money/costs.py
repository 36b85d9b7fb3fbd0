"""What calls to models have cost, summed by task, model, day, owner, provider or pipeline."""

from __future__ import annotations

from dataclasses import dataclass, fields

GROUPS = ("task", "model", "day", "owner", "provider", "pipeline")


@dataclass(frozen=True)
class CostRow:
    """The summed calls of one task, model, day and so on. Costs are in US dollars; the last three are parts of ``cost``."""

    name: str
    """The task's id, `provider:model`, the day in UTC, the owner, the provider or the pipeline."""
    calls: int = 0
    """Calls that were answered."""
    cost: float = 0.0
    unpriced: int = 0
    """Answered calls whose price is unknown; not in ``cost``."""
    possibly_paid: int = 0
    """Calls without an answer that the service may have charged; not in ``cost``."""
    cached: int = 0
    """Questions that were answered from the cache."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Input tokens that were in the service's own cache and cost less."""
    fallbacks: float = 0.0
    """Cost of calls to a later model of the chain."""
    retries: float = 0.0
    """Cost of calls in attempts after the first, and of calls that repeat a question after a bad answer."""
    bad_answers: float = 0.0
    """Cost of answers that were rejected; costs that handlers report themselves are not among them."""


def total_of(rows: list[CostRow]) -> CostRow:
    """The sum of all rows."""
    sums = {
        field.name: sum(getattr(row, field.name) for row in rows) for field in fields(CostRow) if field.name != "name"
    }
    return CostRow("total", **sums)
