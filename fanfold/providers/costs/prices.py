"""The price of an answer: from the configuration, else from the public price list. Unknown stays unknown, never 0."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from fanfold.model.money.batch import BATCH
from fanfold.model.money.questions import Usage
from fanfold.providers.configuration import FREE, Provider


def cost_of(provider: Provider, model: str, usage: Usage) -> Usage:
    """The usage with its cost, if tokens and price are known. Calls to a server declared as free cost nothing."""
    if provider.price == FREE:
        return replace(usage, cost=0.0)
    if usage.input_tokens is None or usage.output_tokens is None:
        return usage
    if provider.price_input is not None and provider.price_output is not None:
        per_million = provider.price_input * usage.input_tokens + provider.price_output * usage.output_tokens
        return replace(usage, cost=per_million / 1_000_000)
    return replace(usage, cost=_listed(provider, model, usage))


def lane_share(provider: Provider, lane: str) -> float:
    """The price of a question in a lane, as a share of the live price."""
    return provider.batch_price if lane == BATCH else 1.0


def at_lane_price(provider: Provider, usage: Usage, lane: str) -> Usage:
    """The usage of a call, with its cost in a lane."""
    return usage if usage.cost is None else replace(usage, cost=usage.cost * lane_share(provider, lane))


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


def dearest(provider: Provider, model: str, input_tokens: int, output_tokens: int) -> float | None:
    """The most that these tokens can cost, in US dollars: at the highest price tier they may reach, without a cache.

    None if the price is unknown. Looking up a price takes 0.2 ms, so prices are cached by size, rounded up.
    """
    size = max(1_024, 1 << max(0, input_tokens - 1).bit_length())
    found = unit_prices(provider, model, size)
    return None if found is None else found[0] * input_tokens + found[1] * output_tokens


@lru_cache(maxsize=1_000)
def unit_prices(provider: Provider, model: str, size: int) -> tuple[float, float] | None:
    """The price of an input and of an output token in a request of this size."""
    asked = cost_of(provider, model, Usage(size, 0)).cost
    answered = cost_of(provider, model, Usage(size, size)).cost
    return None if asked is None or answered is None else (asked / size, (answered - asked) / size)
