"""Makes reported usage storable. A mistake in it must never cost the paid result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.values import serial

TOKENS = ("input_tokens", "output_tokens", "cached_tokens")
MOST_TOKENS = 2**31 - 1
"""Largest value of an integer column of PostgreSQL."""
MOST_COST = 1e9
"""Largest cost in US dollars, so that sums stay finite."""


def kept(usage: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The usage that can be stored, and the names of what was left out."""
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
    """The usage of several calls: numbers of the same name are added up; for other values, the latest counts."""
    found = dict(before)
    for name, value in usage.items():
        if value is None:
            found.setdefault(name, None)
            continue
        total = _sum(before.get(name), value)
        # If a sum is too large to be stored, the earlier value stays.
        found[name] = value if total is None else _fitting(name, total) or before[name]
    return found


def grown(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What was used since an earlier usage of the same attempt; values that are no amounts are left out."""
    found: dict[str, Any] = {}
    for name, value in after.items():
        one, other = _number(before.get(name, 0)), _number(value)
        if one is not None and other is not None and (more := _fitting(name, other - one)):
            found[name] = more
    return found


def _sum(before: Any, value: Any) -> float | int | None:
    one, other = _number(before), _number(value)
    return None if one is None or other is None else one + other


def ledger(usage: Mapping[str, Any]) -> dict[str, int | float | None]:
    """Tokens and cost for a row of the ledger; None if unknown or impossible."""
    return {name: _fitting(name, usage.get(name)) for name in (*TOKENS, "cost")}


def _fitting(name: str, value: Any) -> Any:
    if name in TOKENS or name == "cost":
        number = _number(_read(value) if name == "cost" and isinstance(value, str) else value)
        if number is None or number < 0 or number > (MOST_COST if name == "cost" else MOST_TOKENS):
            return None
        return number if name == "cost" else int(number)
    plain = _number(value) if isinstance(value, Decimal) else value
    try:
        serial.dump({name: plain}, name, typed=False)
    except BadInput:
        return None
    return plain


def _read(text: str) -> Decimal | None:
    """The amount in a text such as "0.25", as some services report it; None if it is not one."""
    try:
        return Decimal(text.strip().removeprefix("$"))
    except InvalidOperation:
        return None


def _number(value: Any) -> float | int | None:
    """A finite number; None for True, False and text."""
    if isinstance(value, bool) or not isinstance(value, int | Real | Decimal):
        return None
    if isinstance(value, int):
        return int(value)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
