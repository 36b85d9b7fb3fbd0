"""The configured limits of a provider and its models: `[providers.NAME]` and `[providers.NAME.models."MODEL"]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.money.rate_limits import Dimension
from fanfold.model.text.sentences import say

FIELDS: dict[str, Dimension] = {
    "requests_per_minute": Dimension.REQUESTS,
    "tokens_per_minute": Dimension.TOKENS,
    "input_tokens_per_minute": Dimension.INPUT_TOKENS,
    "output_tokens_per_minute": Dimension.OUTPUT_TOKENS,
    "requests_per_day": Dimension.REQUESTS_DAY,
    "in_flight": Dimension.IN_FLIGHT,
}
ModelLimits = tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
"""For each model, the names and sizes of its limits."""


def model_limits(given: Any, where: str) -> ModelLimits:
    """Check the limits of particular models from fanfold.toml."""
    if not isinstance(given, Mapping):
        raise BadInput(say("models_no_table", where=where))
    return tuple((str(model), _sizes(limits, f"{where}, models.{model}")) for model, limits in given.items())


def _sizes(given: Any, where: str) -> tuple[tuple[str, float], ...]:
    if not isinstance(given, Mapping):
        raise BadInput(say("models_no_table", where=where))
    if unknown := sorted(set(given) - set(FIELDS)):
        raise BadInput(say("provider_fields_unknown", where=where, names=unknown, known=list(FIELDS)))
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise BadInput(say("provider_no_number", where=where, name=name, value=repr(value)))
    return tuple((str(name), float(value)) for name, value in given.items())


def sizes_for(provider: Any, model: str) -> dict[Dimension, float]:
    """The configured limits of a model: its own override those of its provider; 0 means no limit."""
    named = {name: float(getattr(provider, name)) for name in FIELDS}
    named |= dict(next((limits for name, limits in provider.models if name == model), ()))
    return {FIELDS[name]: size for name, size in named.items() if size >= 1}
