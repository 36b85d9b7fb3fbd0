"""Credits that an installation's own users pay with: the price of a task, accounts, and entries of the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say

OFF, ON, OUTSIDE = "off", "on", "outside"
MODES = (OFF, ON, OUTSIDE)
"""Values of the setting ``credits``: nothing is charged; balances limit what is begun; another ledger does, not this one."""
MOST_CREDITS = 10**15
"""Largest amount of one entry."""
MOST_PRICED = 10_000
"""Most items of a task that have their own price: they are charged, and at its end refunded, in one short transaction."""
WHOLE_TASK = ""
"""The item of an entry about the task as a whole."""


class EntryKind(StrEnum):
    """What an entry is for. Grants and refunds are positive, charges negative."""

    GRANT = "grant"
    CHARGE = "charge"
    REFUND = "refund"


@dataclass(frozen=True)
class Price:
    """The price of a task in credits, as ``@pipeline.price`` returns it. Amounts are whole numbers, at least 0."""

    task: int = 0
    """For the task as a whole: refunded if it fails, or is cancelled or deleted before it completes."""
    per_item: int = 0
    """For each item that the task is submitted with; for a pipeline that begins with `each`."""
    items: Mapping[str, int] = field(default_factory=dict)
    """By item key, for items that a split will make, or items whose price differs from ``per_item``."""


@dataclass(frozen=True)
class PriceWork:
    """What an ``@pipeline.price`` function gets: what is submitted."""

    inputs: Sequence[Any] = ()
    """Files are ``File``; in a quote, paths."""
    options: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    owner: str = ""
    items: Sequence[str] = ()
    """Keys of the items that the task is submitted with; empty if a split makes them."""


@dataclass(frozen=True)
class CreditAccount:
    """The credits of one owner."""

    owner: str
    balance: int
    opened_at: datetime
    outside: bool = False
    """Whether another ledger decides what this owner may spend: then the balance here may be below zero."""


@dataclass(frozen=True)
class CreditEntry:
    """One entry of the ledger. Entries are only added; the sum of an owner's entries is the balance."""

    id: int
    owner: str
    kind: EntryKind
    amount: int
    task: str | None
    """The task's id; the entry outlives the task."""
    item: str | None
    """The item's key; None for the task as a whole, and for grants."""
    generation: int
    """0 for the first charge of an item and its refund, 1 after a retry charged it again, and so on."""
    actor: str
    reason: str | None
    at: datetime
    key: str | None = None
    """The idempotency key of a grant or a charge by hand."""


def check_amount(amount: object, what: str, *, least: int = 1) -> int:
    """An amount of credits; BadInput if it is not a whole number from ``least`` to MOST_CREDITS."""
    if isinstance(amount, bool) or not isinstance(amount, int) or not least <= amount <= MOST_CREDITS:
        raise BadInput(say("credits_amount", what=what, least=least, most=MOST_CREDITS, value=str(amount)[:50]))
    return amount


def units_of(price: object, keys: Sequence[str]) -> dict[str, int]:
    """What a price charges, by item key; WHOLE_TASK is the task itself. Nothing that costs 0 is charged."""
    if price is None:
        return {}
    if not isinstance(price, Price):
        price = Price(items=price) if isinstance(price, Mapping) else Price(task=price)  # type: ignore[arg-type]
    amounts = {WHOLE_TASK: check_amount(price.task, "The price of the task", least=0)}
    per_item = check_amount(price.per_item, "The price of an item", least=0)
    if per_item and not keys:
        raise BadInput(say("credits_no_items"))
    amounts |= dict.fromkeys(keys, per_item)
    for key, amount in price.items.items():
        if key == WHOLE_TASK or type(key) is not str:
            raise BadInput(say("credits_item_key", key=str(key)[:100]))
        amounts[key] = check_amount(amount, f"The price of item {key}", least=0)
    charged = {key: amount for key, amount in amounts.items() if amount}
    if len(charged) > MOST_PRICED + (WHOLE_TASK in charged):
        raise BadInput(say("credits_too_many", most=MOST_PRICED, count=len(charged)))
    return charged
