"""Amounts of money as whole billionths of a dollar, so that sums of thousands of small amounts are exact."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import shown

PARTS = 1_000_000_000
"""Billionths per dollar. A token of the cheapest models costs about ten billionths."""
SMALLEST = Decimal(1) / PARTS
"""The smallest amount that can be counted, in dollars."""
MOST_DOLLARS = 1_000_000_000
"""Largest amount; sums of such amounts still fit in 64 bits."""


def parts_of(cost: float) -> int:
    """The cost of a call, in billionths of a dollar."""
    return round(cost * PARTS)


def dollars(amount: int) -> float:
    """An amount in dollars."""
    return amount / PARTS


def read_amount(value: Any) -> int:
    """An amount that a person gave in dollars: `5`, `0.25`, `"5.00"` or `"$5"`; BadInput if it is not an amount."""
    try:
        if isinstance(value, bool):
            raise ValueError
        found = Decimal(value.strip().removeprefix("$") if isinstance(value, str) else str(value))
        if not found.is_finite() or not 0 <= found <= MOST_DOLLARS:
            raise ValueError
    except (InvalidOperation, ValueError, TypeError):
        raise BadInput(say("budget_amount", value=shown(value))) from None
    if 0 < found < SMALLEST:
        raise BadInput(say("budget_amount_small", value=shown(value)))
    return int((found * PARTS).to_integral_value())


def told_dollars(found: float) -> str:
    """An amount in dollars as people read it."""
    return told(parts_of(found))


def told(amount: int) -> str:
    """An amount for people: `$2.00`, `$0.41`, `$0.0123`; very small ones with two significant digits."""
    found = amount / PARTS
    if amount == 0 or abs(found) >= 1:
        return f"${found:.2f}"
    if abs(found) < 0.0001:
        return f"${Decimal(f'{found:.1e}'):f}"
    plain = f"{found:.4f}"
    return f"${plain[:-2] if plain.endswith('00') else plain}"
