"""What does an answer cost? What the configuration says, else the public price list; unknown stays unknown, never 0."""

from __future__ import annotations

from dataclasses import replace

from fanfold.model.values.questions import Usage
from fanfold.providers.configuration import Provider


def cost_of(provider: Provider, model: str, usage: Usage) -> Usage:
    """The usage with its cost, where tokens and price are known."""
    if usage.input_tokens is None or usage.output_tokens is None:
        return usage
    if provider.price_input is not None and provider.price_output is not None:
        per_million = provider.price_input * usage.input_tokens + provider.price_output * usage.output_tokens
        return replace(usage, cost=per_million / 1_000_000)
    return replace(usage, cost=_listed(provider, model, usage))


def _listed(provider: Provider, model: str, usage: Usage) -> float | None:
    import genai_prices

    used = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens or None,
    )
    try:
        found = genai_prices.calc_price(used, model_ref=model, provider_api_url=provider.address)
    except (LookupError, ValueError):
        return None
    return float(found.total_price)
