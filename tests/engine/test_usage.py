"""What a handler says about its usage is coerced or left out with a warning; its paid result is kept in any case."""

import logging
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

import fanfold as ff
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.model.endings import Ending
from tests.engine.pipelines import batch
from tests.installation import Installation

ODD: dict[str, dict[str, Any]] = {
    "float tokens": {"input_tokens": 1.5, "cost": Decimal("0.25")},
    "too many tokens": {"input_tokens": 3e9, "output_tokens": 3_000_000_000},
    "truth": {"input_tokens": True, "cost": False},
    "not a number": {"input_tokens": float("nan"), "cost": float("nan")},
    "text": {"cost": "x", "input_tokens": "many"},
    "objects": {"cost": object(), "extra": object(), "model": object()},
    "negative": {"input_tokens": -1, "cost": -0.5},
    "NUL": {"note": "a\0b"},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_odd_usage_never_fails_a_paid_item(installation: Installation, odd: dict[str, Any]) -> None:
    def convert(item: Any) -> str:
        item.used(**odd)
        return "paid"

    task = installation.client.submit(installation.know(batch(handler=convert)), items=[1, 2])
    installation.work()
    now = installation.client.get(task.id)
    assert (now.state, installation.client.result(task.id)) == ("completed", ["paid", "paid"])
    assert now.spending.cost == (0.5 if odd == ODD["float tokens"] else 0)
    assert now.spending.input_tokens == (2 if odd == ODD["float tokens"] else 0)


def test_what_is_left_out_is_named_once_with_its_stage(
    installation: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"careless-{uuid4().hex[:8]}"  # It is said once per process.

    def convert(item: Any) -> None:
        item.used(input_tokens=True, output_tokens=7)

    task = installation.client.submit(installation.know(batch(handler=convert, name=name)), items=list(range(5)))
    with caplog.at_level(logging.WARNING, "fanfold"):
        installation.work()
    [warning] = [record.getMessage() for record in caplog.records if "used" in record.getMessage()]
    assert name in warning
    assert "input_tokens" in warning
    assert installation.client.get(task.id).spending.output_tokens == 35


def test_the_ledger_takes_only_what_it_can_hold(installation: Installation) -> None:
    """A settlement may come from a child process or an older version."""
    task = installation.client.submit(installation.know(batch()), items=[1])
    worker = installation.worker()
    [claimed] = worker.claim()
    usage = '{"input_tokens": 3000000000, "output_tokens": true, "cached_tokens": 5, "cost": 0.5}'
    worker.settle(Settlement(claimed, Ending.FINISH, output='"paid"', model="m", usage=usage))
    [call] = installation.client.calls(task.id)
    assert (call.input_tokens, call.output_tokens, call.cost) == (None, None, 0.5)
    assert installation.states(task) == "done"


@pytest.mark.parametrize("ending", ["later", "pause", "cancelled"])
def test_what_an_attempt_has_spent_counts_also_when_its_item_is_handed_back(
    installation: Installation, ending: str
) -> None:
    """It is charged, whichever worker takes the item next."""
    calls = 0

    def convert(item: Any) -> Any:
        nonlocal calls
        calls += 1
        item.used(model="m", cost=1.0)
        if calls > 1:
            return "made"
        if ending == "pause":
            raise ff.PauseTask("no credit")
        if ending == "cancelled":
            item._stop.set()
            item.check()
        return ff.later(0)

    task = installation.client.submit(installation.know(batch(handler=convert)), items=[1])
    installation.work()
    if ending == "pause":
        installation.client.resume(task.id)
        installation.work()
    now = installation.client.get(task.id)
    assert (now.state, calls, now.spending.cost) == ("completed", 2, 2.0)


def test_several_calls_of_one_attempt_all_count(installation: Installation) -> None:
    def convert(item: Any) -> str:
        for _ in range(3):
            item.used(model="m", input_tokens=1_000, cost=0.25)
        if item.attempt == 1:
            raise ff.Temporary("cut off", after=0)
        return "paid"

    pipeline = installation.know(batch(handler=convert, retry=ff.Retry(limit=1)))
    task = installation.client.submit(pipeline, items=[1, 2])
    installation.completed(task)
    spending = installation.client.get(task.id).spending
    assert (spending.input_tokens, spending.cost) == (12_000, 3.0)
