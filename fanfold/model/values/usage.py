"""Makes what a handler or a service says about its usage fit to be kept; a slip in it must never cost the paid result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.values import serial

TOKENS = ("input_tokens", "output_tokens", "cached_tokens")
MOST_TOKENS = 2**31 - 1
"""What an integer column of PostgreSQL holds."""
MOST_COST = 1e9
"""US dollars; sums stay finite."""


def kept(usage: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The usage as it can be kept, and the names of what had to be left out."""
    found: dict[str, Any] = {}
    left_out: list[str] = []
    for name, value in usage.items():
        fitting = _fitting(name, value)
        if fitting is None and value is not None:
            left_out.append(name)
        else:
            found[name] = fitting
    return found, left_out


def added(before: Mapping[str, Any], usage: Mapping[str, Any]) -> dict[str, Any]:
    """The usage of several calls: numbers of one name are added up, of other values the latest counts. Both are kept values."""
    found = dict(before)
    for name, value in usage.items():
        if value is None:
            found.setdefault(name, None)
            continue
        total = _sum(before.get(name), value)
        # A sum that is too large to be kept stays at what is known so far.
        found[name] = value if total is None else _fitting(name, total) or before[name]
    return found


def _sum(before: Any, value: Any) -> float | int | None:
    one, other = _number(before), _number(value)
    return None if one is None or other is None else one + other


def ledger(usage: Mapping[str, Any]) -> dict[str, int | float | None]:
    """Tokens and cost for a row of the ledger; None where nothing is known, or what was said cannot be meant."""
    return {name: _fitting(name, usage.get(name)) for name in (*TOKENS, "cost")}


def _fitting(name: str, value: Any) -> Any:
    if name in TOKENS or name == "cost":
        number = _number(value)
        if number is None or number < 0 or number > (MOST_COST if name == "cost" else MOST_TOKENS):
            return None
        return number if name == "cost" else int(number)
    plain = _number(value) if isinstance(value, Decimal) else value
    try:
        serial.dump({name: plain}, name, typed=False)
    except BadInput:
        return None
    return plain


def _number(value: Any) -> float | int | None:
    """A finite number; True and False are none, nor is text."""
    if isinstance(value, bool) or not isinstance(value, int | Real | Decimal):
        return None
    if isinstance(value, int):
        return int(value)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
