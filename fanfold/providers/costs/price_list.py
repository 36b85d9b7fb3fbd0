"""The source of a price: the provider's settings, or the public price list with its date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

from fanfold.providers.configuration import FREE, Provider
from fanfold.providers.costs.prices import unit_prices

DATE = re.compile(r"\b20\d\d-[01]\d-[0-3]\d\b")
SMALL_REQUEST = 1_024
"""Prices are shown for a request of this many tokens; longer ones may cost more per token."""


@dataclass(frozen=True)
class ListedPrice:
    """US dollars per million tokens, with their source; None where the price is not known."""

    input: float | None = None
    output: float | None = None
    source: str = "unknown"
    dated: str | None = None
    """The newest date that the price list names; None for prices from the settings, which have no date."""

    @property
    def told(self) -> str:
        """The price in a few words."""
        if self.input is None or self.output is None:
            return "unknown"
        if not self.input and not self.output:
            return "free"
        return f"${self.input:g} in, ${self.output:g} out"


def listed_price(provider: Provider, model: str) -> ListedPrice:
    """The price at which calls to a model are counted."""
    if provider.price == FREE:
        return ListedPrice(0.0, 0.0, "settings")
    found = unit_prices(provider, model, SMALL_REQUEST) if model else None
    if found is None:
        return ListedPrice()
    asked, answered = (round(one * 1_000_000, 6) for one in found)
    if provider.price_input is not None and provider.price_output is not None:
        return ListedPrice(asked, answered, "settings")
    return ListedPrice(asked, answered, f"genai-prices {version('genai-prices')}", _newest_date())


@cache
def _newest_date() -> str | None:
    """The newest date in the comments of the price list: the list itself has no date."""
    from genai_prices.data_snapshot import get_snapshot

    comments = [
        comment
        for provider in get_snapshot().providers
        for comment in (provider.price_comments, *(model.price_comments for model in provider.models))
    ]
    return max((date for comment in comments for date in DATE.findall(comment or "")), default=None)
