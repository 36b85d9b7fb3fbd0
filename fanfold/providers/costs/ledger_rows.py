"""The row of a call in the ledger, the same for live calls, calls in batches and calls answered from the cache."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fanfold.model.money.batch import LIVE
from fanfold.model.money.questions import Usage
from fanfold.model.money.usage import ledger
from fanfold.providers.configuration import Provider
from fanfold.providers.costs.prices import at_lane_price


def ledger_row(
    provider: Provider,
    model: str,
    outcome: str,
    usage: Usage,
    *,
    item: int,
    lease: int,
    key: str | None,
    lane: str = LIVE,
    seconds: float = 0.0,
    raw: str | None = None,
    purpose: str | None = None,
) -> dict[str, Any]:
    """The row of an item's call. ``usage`` has the price of a live call, the row has the price of its lane."""
    return {
        "item": item,
        "lease": lease,
        "provider": provider.name,
        "model": model,
        "outcome": outcome,
        "seconds": seconds,
        "answer": key,
        "raw": None if raw is None else storable(raw),
        "purpose": purpose,
        "lane": None if lane == LIVE else lane,
        **ledger(asdict(at_lane_price(provider, usage, lane))),
    }


def storable(text: str) -> str:
    """Replace the characters that databases refuse: NUL and lone surrogates."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
