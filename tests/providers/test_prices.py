"""Costs are computed correctly, and are unknown if the price is unknown."""

import pytest

from fanfold.errors import BadInput
from fanfold.model.money.questions import Spending, Usage, cost_of_calls, money
from fanfold.providers.configuration import Provider, load
from fanfold.providers.costs.price_list import listed_price
from fanfold.providers.costs.prices import cost_of

USED = Usage(input_tokens=1_000, output_tokens=100)


def test_the_price_list_knows_the_great_services() -> None:
    found = cost_of(Provider("openai", key_env="X"), "gpt-4o-mini", USED)
    assert found.cost == pytest.approx(0.00021)


def test_what_the_configuration_says_comes_first() -> None:
    assert cost_of(Provider("openai", price_input=2.0, price_output=0.0), "gpt-4o-mini", USED).cost == pytest.approx(
        0.002
    )
    half = cost_of(Provider("mine", base_url="http://127.0.0.1:1/v1", price_input=2.0), "m", USED)
    assert half.cost is None, "half a price is none"


@pytest.mark.parametrize("model", ["some-model-of-mine", "gpt-4o-mini"])
def test_unknown_stays_unknown_and_is_not_nothing(model: str) -> None:
    assert cost_of(Provider("mine", base_url="http://127.0.0.1:1/v1"), model, USED).cost is None
    assert cost_of(Provider("openai"), "gpt-4o-mini", Usage()).cost is None


def test_money_says_what_is_not_known() -> None:
    assert money(Spending(calls=2, cost=0.0123)) == "$0.0123"
    assert money(Spending(calls=2, unpriced=1, cost=0.0123)) == "≥ $0.0123"
    assert money(Spending(calls=2, unpriced=2)) == "unknown cost"
    assert money(Spending(calls=1200, cost=12.3456)) == "$12.35"
    assert money(Spending(cached=3)) == "$0.00"
    assert money(Spending(calls=40, cost=0.4, possibly_paid=8)) == "≥ $0.4000, 8 unanswered calls may be charged"
    assert money(Spending(possibly_paid=1)) == "unknown cost, 1 unanswered call may be charged"


def test_what_calls_cost_is_said_in_plain_words() -> None:
    assert cost_of_calls(Spending(calls=1, cost=0.0123)) == "$0.0123 for 1 call"
    assert cost_of_calls(Spending(calls=2, unpriced=2)) == "unknown cost for 2 calls"
    some = cost_of_calls(Spending(calls=40, cost=0.4, possibly_paid=8))
    assert some == "≥ $0.4000 for 40 answered calls, 8 unanswered calls may be charged"
    assert cost_of_calls(Spending(possibly_paid=20)) == "unknown cost, 20 unanswered calls may be charged"
    free = cost_of_calls(Spending(calls=1, unpriced=1, possibly_paid=1))
    assert free == "unknown cost for 1 answered call, 1 unanswered call may be charged"


def test_a_server_declared_as_free_costs_nothing() -> None:
    mine = Provider("mine", base_url="http://127.0.0.1:1/v1", price="free")
    assert cost_of(mine, "m", USED).cost == 0.0
    assert cost_of(mine, "m", Usage()).cost == 0.0, "whether or not it counts its tokens"
    assert listed_price(mine, "m").told == "free"
    with pytest.raises(BadInput, match="price_input"):
        load({"FANFOLD_PROVIDERS_MINE_PRICE": "cheap"})
    assert load({"FANFOLD_PROVIDERS_MINE_BATCH_PRICE": "0.4"})["mine"].batch_price == 0.4
