"""A retry with other options costs what these options cost: nobody gets something dear at the price of something cheap."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.credits.price import price_of_rerun
from fanfold.engine.tasks.steering import commands
from fanfold.engine.worker.claiming.handler_batches import calls_of
from tests.engine.test_credits import balance, entries
from tests.installation import HandClock, Installation


@pytest.fixture
def shop(database_url: str, tmp_path: Path, clock: HandClock) -> Iterator[Installation]:
    """An installation in which tasks cost credits; ann has 100."""
    made = Installation(database_url, tmp_path / "data", clock, credits="on")
    made.client.credits.grant("ann", 100)
    yield made
    made.store.close()


def album(shop: Installation) -> ff.Pipeline:
    """As many pictures as the options say; a dear one costs 10, a cheap one 1, a free one nothing. A bad one fails."""
    made = ff.Pipeline("album")

    @made.price
    def price(work: ff.PriceWork) -> dict[str, int]:
        each = {"dear": 10, "cheap": 1}.get(work.options.get("model", "cheap"), 0)
        return {f"p{number}": each for number in range(work.options.get("count", 1))}

    @made.split
    def split(task: ff.TaskWork) -> Iterator[ff.NewItem[Any]]:
        if task.options.get("broken"):
            raise ff.Permanent("no paper")
        for number in range(task.options.get("count", 1)):
            yield ff.NewItem(key=f"p{number}", input=number)

    @made.each(tolerate=0.9)
    def draw(item: ff.ItemWork) -> str:
        if item.key in item.options.get("bad", ()):
            raise ff.Permanent("blurred")
        return str(item.options.get("model", "cheap"))

    @made.merge
    def bind(task: ff.TaskWork, results: ff.Results) -> list[str]:
        return [one.output for one in results if one.ok]

    return shop.know(made)


def done(shop: Installation, **options: Any) -> ff.Task:
    task = shop.client.submit(album(shop), options=options, owner="ann")
    shop.work()
    return shop.client.get(task.id)


@pytest.mark.parametrize("first", ["cheap", "free"])
def test_a_picture_that_is_made_again_by_a_dear_model_costs_what_that_costs(shop: Installation, first: str) -> None:
    task = done(shop, count=2, model=first)
    before = balance(shop)
    shop.client.retry(task.id, ["p1"], stage="draw", options={"model": "dear"})
    assert balance(shop) == before - 10
    shop.work()
    assert (shop.client.result(task.id), balance(shop)) == ([first, "dear"], before - 10)


def test_a_failed_picture_is_charged_again_at_the_new_price(shop: Installation) -> None:
    task = done(shop, count=3, bad=["p1"])
    assert balance(shop) == 98
    shop.client.retry(task.id, options={"model": "dear", "bad": []})
    assert balance(shop) == 88
    shop.work()
    assert entries(shop, task)[-2:] == [("refund", "p1", 0, 1), ("charge", "p1", 1, -10)]


def test_pictures_that_a_retry_adds_are_charged(shop: Installation) -> None:
    task = done(shop, broken=True)
    assert (task.state, balance(shop)) == ("failed", 100)
    shop.client.retry(task.id, task_options={"broken": None, "count": 5})
    assert balance(shop) == 95
    shop.work()
    assert (len(shop.client.result(task.id)), balance(shop)) == (5, 95)


def test_a_retry_at_a_higher_price_that_the_owner_cannot_pay_is_refused(shop: Installation) -> None:
    task = done(shop, broken=True)
    with pytest.raises(ff.NotEnoughCredits):
        shop.client.retry(task.id, task_options={"broken": None, "count": 50, "model": "dear"})
    assert (shop.client.get(task.id).state, balance(shop)) == ("failed", 100)


def test_what_was_paid_and_is_not_delivered_is_paid_at_the_new_price(shop: Installation) -> None:
    """The task is at work: its failed picture has not been refunded yet."""
    task = shop.client.submit(album(shop), options={"count": 2, "bad": ["p0"]}, owner="ann")
    worker = shop.worker()
    [(row, stage, split)] = calls_of(worker.turn(free=1).claimed, worker.pipelines)
    worker.settle(*worker.call_many(row, stage, split))
    [first] = worker.claim(free=1)
    worker.fail(first)
    assert (shop.client.get(task.id).state, balance(shop)) == ("active", 98)
    shop.client.retry(task.id, ["p0"], stage="draw", options={"model": "dear", "bad": []})
    assert balance(shop) == 89
    shop.work()
    assert (shop.client.result(task.id), balance(shop)) == (["dear", "cheap"], 89)
    assert entries(shop, task)[2:] == [("refund", "p0", 0, 1), ("charge", "p0", 1, -10)]


def paid_for(shop: Installation, task: ff.Task) -> dict[str | None, int]:
    """What is charged and was not refunded, by item."""
    paid: dict[str | None, int] = {}
    for _, item, _, amount in entries(shop, task):
        paid[item] = paid.get(item, 0) - amount
    return paid


PRICES = {"free": 0, "cheap": 1, "dear": 10}


@pytest.mark.parametrize("second", PRICES)
@pytest.mark.parametrize("first", PRICES)
def test_a_rerun_costs_what_the_task_did_and_not_what_a_retry_did(shop: Installation, first: str, second: str) -> None:
    """The rerun drops the options of the retried picture, so it is made by the first model again."""
    task = done(shop, count=3, model=first, bad=["p1"])
    shop.client.retry(task.id, options={"model": second, "bad": []})
    shop.work()
    assert shop.client.result(task.id) == [first, second, first]
    before = balance(shop)
    shop.client.rerun(task.id)
    assert before - balance(shop) == 3 * PRICES[first], "p1 is charged until it fails"
    shop.work()
    assert (shop.client.result(task.id), before - balance(shop)) == ([first, first], 2 * PRICES[first])
    shop.client.retry(task.id, options={"bad": []})
    assert before - balance(shop) == 3 * PRICES[first]


def test_what_was_delivered_stays_paid_when_a_cheap_rerun_is_cancelled(shop: Installation) -> None:
    task = done(shop, count=2, model="free", bad=["p1"])
    shop.client.retry(task.id, options={"model": "dear", "bad": []})
    shop.work()
    shop.client.rerun(task.id)
    shop.client.cancel(task.id)
    assert (balance(shop), paid_for(shop, task)) == (90, {"p1": 10})


def test_a_rerun_before_a_dear_retry_has_delivered_refunds_it(shop: Installation) -> None:
    task = done(shop, count=2, bad=["p1"])
    shop.client.retry(task.id, options={"model": "dear", "bad": []})
    assert balance(shop) == 89
    shop.client.pause(task.id)
    shop.client.rerun(task.id)
    assert (balance(shop), paid_for(shop, task)) == (97, {"p0": 2, "p1": 1})


def test_a_rerun_costs_what_the_new_options_of_the_task_cost(shop: Installation) -> None:
    task = done(shop, count=2, bad=["p1"])
    shop.client.retry(task.id, task_options={"model": "dear", "bad": []})
    assert balance(shop) == 89
    shop.work()
    shop.client.rerun(task.id)
    assert balance(shop) == 69, "both are made by the dear model now"
    shop.work()
    assert (shop.client.result(task.id), balance(shop)) == (["dear", "dear"], 69)


def test_a_rerun_keeps_the_price_although_the_pipeline_has_a_new_one(shop: Installation) -> None:
    task = done(shop, count=2)
    made = album(shop)
    made.pricer = lambda work: {"p0": 50, "p1": 50}
    shop.know(made)
    shop.client.rerun(task.id)
    assert balance(shop) == 96


def test_a_rerun_whose_options_change_meanwhile_is_refused(shop: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A price that was asked for other options than those of the task is never charged."""
    task = done(shop, count=2, bad=["p1"])
    ask = price_of_rerun

    def raced(*given: Any) -> Any:
        asked = ask(*given)
        shop.client.retry(task.id, task_options={"model": "dear", "bad": []})
        shop.work()
        return asked

    monkeypatch.setattr(commands, "price_of_rerun", raced)
    with pytest.raises(ff.IllegalMove, match="Somebody else changed the task"):
        shop.client.rerun(task.id)
    assert (shop.client.get(task.id).state, balance(shop)) == ("completed", 89)


def test_a_retry_costs_what_the_options_of_earlier_retries_cost(shop: Installation) -> None:
    """Options of a retry are added to those that the item got before: it is still made by the dear model."""
    task = done(shop, count=2, bad=["p1"])
    shop.client.retry(task.id, ["p1"], stage="draw", options={"model": "dear"})
    shop.work()
    assert balance(shop) == 99
    shop.client.retry(task.id, ["p1"], stage="draw", options={"bad": []})
    assert balance(shop) == 89
    shop.work()
    assert shop.client.result(task.id) == ["cheap", "dear"]


def test_a_done_picture_that_is_named_costs_what_the_new_options_of_the_task_cost(shop: Installation) -> None:
    task = done(shop, count=2)
    shop.client.retry(task.id, ["p0"], stage="draw", task_options={"model": "dear"})
    assert balance(shop) == 88
    shop.work()
    assert shop.client.result(task.id) == ["dear", "cheap"]
