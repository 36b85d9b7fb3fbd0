"""Usage is stored as far as it is valid, and nothing in it can fail a paid result."""

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from fanfold.model.money.usage import MOST_COST, MOST_TOKENS, added, kept, ledger

NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "tokens"),
    [(7, 7), (1.5, 1), (Decimal(12), 12), (Fraction(9, 2), 4), (0, 0), (None, None), (2**31 - 1, 2**31 - 1)],
)
def test_numbers_become_tokens(value: Any, tokens: Any) -> None:
    assert kept({"input_tokens": value}) == ({"input_tokens": tokens}, [])


@pytest.mark.parametrize("value", [True, -1, 3e9, 2**31, 10**400, NAN, INFINITE, Decimal("NaN"), "12", [1], object()])
def test_what_cannot_be_tokens_is_left_out(value: Any) -> None:
    assert kept({"output_tokens": value}) == ({}, ["output_tokens"])
    assert ledger({"output_tokens": value})["output_tokens"] is None


@pytest.mark.parametrize(
    ("value", "cost"), [(Decimal("0.25"), 0.25), (1, 1), (0.5, 0.5), ("0.25", 0.25), (" $2 ", 2.0)]
)
def test_numbers_become_costs(value: Any, cost: float) -> None:
    assert kept({"cost": value}) == ({"cost": cost}, [])


@pytest.mark.parametrize(
    "value", [NAN, INFINITE, -0.01, True, "x", "", "-1", "nan", 1e300, Decimal("Infinity"), Decimal("sNaN")]
)
def test_what_cannot_be_a_cost_is_left_out(value: Any) -> None:
    assert kept({"cost": value}) == ({}, ["cost"])


def test_other_fields_are_kept_if_json_has_them() -> None:
    said = {"seconds": Decimal("1.5"), "note": "fine", "parts": [1, 2], "fast": True, "at": datetime.date(2030, 1, 1)}
    known, left_out = kept(said | {"odd": NAN, "nul": "a\0", "half": "\ud800", "set": {1: 2, "1": 3}})
    assert known == {"seconds": 1.5, "note": "fine", "parts": [1, 2], "fast": True}
    assert left_out == ["at", "odd", "nul", "half", "set"]


def test_the_usage_of_several_calls_is_added_up() -> None:
    once = {"input_tokens": 1_000, "cost": 0.25, "seconds": 1.5, "note": "first", "fast": True}
    twice = added(once, {"input_tokens": 500, "cost": 0.5, "seconds": 2, "note": "second", "fast": True, "pages": 3})
    assert twice == {"input_tokens": 1_500, "cost": 0.75, "seconds": 3.5, "note": "second", "fast": True, "pages": 3}


def test_a_sum_of_usage_stays_in_its_bounds_and_what_is_unknown_hides_nothing() -> None:
    assert added({"input_tokens": MOST_TOKENS, "cost": MOST_COST}, {"input_tokens": 1, "cost": 1.0}) == {
        "input_tokens": MOST_TOKENS,
        "cost": MOST_COST,
    }
    assert added({"cost": 0.5}, {"cost": None}) == {"cost": 0.5}
    assert added({"cost": None}, {"cost": 0.5}) == {"cost": 0.5}
    assert added({}, {"cost": None}) == {"cost": None}
