"""Credits are charged with the submission, refunded with the end of the task, each once, and never fall below zero."""

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.engine.client import Client
from fanfold.engine.webhooks.deliveries import DELAYS, ledger
from tests.engine.pipelines import batch, book, one_step
from tests.engine.test_webhooks import SECRET, answers, receiving
from tests.installation import HandClock, Installation


@pytest.fixture
def shop(database_url: str, tmp_path: Path, clock: HandClock) -> Iterator[Installation]:
    """An installation in which tasks cost credits; ann has 100."""
    made = Installation(database_url, tmp_path / "data", clock, credits="on")
    made.client.credits.grant("ann", 100)
    yield made
    made.store.close()


def pictures(shop: Installation, *, task: int = 0, tolerate: float = 0, **rules: Any) -> ff.Pipeline:
    """A picture per item, 5 credits each; a tolerant one delivers what there is."""
    made = batch("pictures", tolerate=tolerate, **rules)
    made.price(lambda work: ff.Price(task=task, per_item=5))
    return shop.know(made)


def submit(shop: Installation, pipeline: ff.Pipeline, *items: str, **more: Any) -> ff.Task:
    named = [ff.NewItem(key=f"p{number}", input=text) for number, text in enumerate(items, 1)]
    return shop.client.submit(pipeline, items=named or None, owner="ann", **more)


def balance(shop: Installation, owner: str = "ann") -> int:
    """The balance, which must be the sum of the entries."""
    assert shop.client.credits.differences() == []
    return shop.client.credits.balance(owner)


def entries(shop: Installation, task: ff.Task) -> list[tuple[str, str | None, int, int]]:
    """Kind, item, generation and amount of the entries of a task, oldest first."""
    found = reversed(shop.client.credits.entries(task=task.id))
    return [(one.kind.value, one.item, one.generation, one.amount) for one in found]


def test_a_task_is_charged_with_its_submission_and_a_delivered_one_keeps_the_charge(shop: Installation) -> None:
    task = submit(shop, pictures(shop, task=2), "a", "b")
    assert balance(shop) == 88
    shop.completed(task)
    assert balance(shop) == 88
    assert entries(shop, task) == [("charge", None, 0, -2), ("charge", "p1", 0, -5), ("charge", "p2", 0, -5)]


def test_without_enough_credits_nothing_is_begun(shop: Installation) -> None:
    pipeline = pictures(shop)
    before = shop.rows()
    with pytest.raises(ff.NotEnoughCredits, match="costs 105 credits, and ann has 100") as refused:
        submit(shop, pipeline, *["a"] * 21)
    assert (refused.value.price, refused.value.balance) == (105, 100)
    with pytest.raises(ff.NotEnoughCredits, match="bob has 0"):
        shop.client.submit(pipeline, items=["a"], owner="bob")
    assert shop.rows() == before


def test_many_submissions_at_once_never_overdraw_the_account(shop: Installation) -> None:
    pipeline, gate = pictures(shop), threading.Barrier(6)
    refused: Counter[str] = Counter()

    def spend() -> None:
        gate.wait(60)
        for _ in range(6):
            try:
                submit(shop, pipeline, "a")
            except ff.NotEnoughCredits as problem:
                refused[problem.code] += 1

    threads = [threading.Thread(target=spend) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert balance(shop) == 0
    assert refused == {"not_enough_credits": 16}
    assert len(shop.client.list(owner="ann", limit=100)) == 20


def test_a_race_that_passed_the_early_check_is_refused_in_the_transaction(
    shop: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanfold.engine.tasks.submitting.submit.check_balance", lambda *_: None)
    pipeline = pictures(shop)
    before = shop.rows()
    with pytest.raises(ff.NotEnoughCredits):
        submit(shop, pipeline, *["a"] * 21)
    assert shop.rows() == before


def test_the_database_itself_keeps_a_balance_from_falling_below_zero(shop: Installation) -> None:
    with pytest.raises((sa.exc.DBAPIError, ff.DatabaseProblem)):
        shop.sql("UPDATE credit_accounts SET balance = -1")


@pytest.mark.parametrize("statement", ["UPDATE credit_entries SET amount = 1", "DELETE FROM credit_entries"])
def test_the_database_itself_keeps_the_ledger_append_only(shop: Installation, statement: str) -> None:
    with pytest.raises((sa.exc.DBAPIError, ff.DatabaseProblem), match="append-only"):
        shop.sql(statement)


def test_partial_success_refunds_the_failed_items(shop: Installation) -> None:
    task = submit(shop, pictures(shop, task=2, tolerate=3), "a", "bad", "c")
    shop.completed(task)
    assert balance(shop) == 100 - 2 - 10
    assert entries(shop, task)[-1] == ("refund", "p2", 0, 5)


def test_a_failed_task_costs_nothing_and_its_retry_is_charged_under_a_new_generation(shop: Installation) -> None:
    works: list[bool] = []

    def draw(task: Any) -> str:
        if not works:
            raise ff.Permanent("the model refused")
        return "picture"

    pipeline = one_step(draw, "single")
    pipeline.price(lambda work: 7)
    shop.know(pipeline)
    task = submit(shop, pipeline)
    shop.work()
    assert (shop.client.get(task.id).state, balance(shop)) == ("failed", 100)
    shop.client.retry(task.id)
    assert balance(shop) == 93
    shop.work()
    assert balance(shop) == 100
    works.append(True)
    shop.client.retry(task.id)
    shop.work()
    assert balance(shop) == 93
    assert entries(shop, task) == [
        ("charge", None, 0, -7), ("refund", None, 0, 7), ("charge", None, 1, -7), ("refund", None, 1, 7),
        ("charge", None, 2, -7),
    ]  # fmt: skip


def test_a_partial_task_gets_its_failures_back_and_pays_for_their_retry(shop: Installation) -> None:
    task = submit(shop, pictures(shop), "a", "bad")
    shop.work()
    assert (shop.client.get(task.id).state, balance(shop)) == ("partial", 95)
    shop.client.retry(task.id, options={"instead": "good"})
    assert balance(shop) == 90
    shop.completed(task)
    assert balance(shop) == 90


def test_a_retry_charges_only_what_it_works_on(shop: Installation) -> None:
    task = submit(shop, pictures(shop), "bad", "bad", "c")
    shop.work()
    assert balance(shop) == 95
    shop.client.retry(task.id, ["p1"], options={"instead": "good"})
    assert balance(shop) == 90
    shop.work()
    assert (shop.client.get(task.id).state, balance(shop)) == ("partial", 90)
    shop.client.delete(task.id)
    assert balance(shop) == 90, "what was refunded before is not refunded again"


def test_a_retry_that_the_owner_cannot_pay_changes_nothing(shop: Installation) -> None:
    task = submit(shop, pictures(shop), "bad", "b")
    shop.work()
    shop.client.credits.charge("ann", 95)
    before = shop.rows()
    with pytest.raises(ff.NotEnoughCredits):
        shop.client.retry(task.id)
    assert shop.rows() == before


def test_a_cancelled_task_costs_what_was_done(shop: Installation) -> None:
    task = submit(shop, pictures(shop, task=2), "a", "b", "c")
    worker = shop.worker()
    [first] = worker.claim(free=1)
    worker.finish(first)
    shop.client.cancel(task.id)
    assert balance(shop) == 95
    assert [entry for entry in entries(shop, task) if entry[0] == "refund"] == [
        ("refund", None, 0, 2), ("refund", "p2", 0, 5), ("refund", "p3", 0, 5),
    ]  # fmt: skip
    shop.client.retry(task.id)
    assert balance(shop) == 100 - 17
    shop.completed(task)
    assert balance(shop) == 100 - 17


def test_a_deleted_task_is_refunded_and_its_entries_stay(shop: Installation) -> None:
    task = submit(shop, pictures(shop, task=2), "a", "b")
    shop.client.pause(task.id)
    shop.client.delete(task.id)
    assert balance(shop) == 100
    assert len(entries(shop, task)) == 6


def test_items_that_were_never_made_are_refunded(shop: Installation) -> None:
    pipeline = book(tolerate=9)
    pipeline.price(lambda work: {f"p{number}": 5 for number in range(1, work.options["count"] + 1)})
    shop.know(pipeline)
    task = submit(shop, pipeline, options={"texts": ["a", "bad"], "count": 4})
    assert balance(shop) == 80
    shop.completed(task)
    assert balance(shop) == 95
    shop.client.merge(task.id)
    shop.work()
    assert balance(shop) == 95, "a merge works on no item"
    shop.client.rerun(task.id)
    assert balance(shop) == 75, "a rerun makes everything once more"
    shop.completed(task)
    assert balance(shop) == 90


def test_a_task_cancelled_before_its_split_is_charged_again_in_full(shop: Installation) -> None:
    pipeline = book()
    pipeline.price(lambda work: {"p1": 5})
    shop.know(pipeline)
    task = submit(shop, pipeline, options={"count": 1})
    shop.work()
    shop.client.cancel(task.id)
    assert balance(shop) == 100
    shop.client.retry(task.id)
    assert balance(shop) == 95


def test_a_done_item_that_is_redone_by_name_is_paid_for_again(shop: Installation) -> None:
    task = submit(shop, pictures(shop), "a", "b")
    shop.completed(task)
    shop.client.retry(task.id, ["p1"], options={"instead": "bad"})
    assert balance(shop) == 85
    shop.work()
    assert balance(shop) == 90, "only the redo is refunded: the first picture was delivered"
    assert entries(shop, task)[-2:] == [("charge", "p1", 1, -5), ("refund", "p1", 1, 5)]


def test_a_merge_that_fails_refunds_its_items_unless_they_were_delivered_before(shop: Installation) -> None:
    breaks: list[bool] = [True]
    pipeline = ff.Pipeline("album")

    @pipeline.each
    def draw(item: Any) -> str:
        return str(item.input)

    @pipeline.merge
    def bind(task: Any, results: Any) -> int:
        if breaks:
            raise ff.Permanent("out of paper")
        return sum(1 for _ in results)

    pipeline.price(lambda work: ff.Price(per_item=5))
    shop.know(pipeline)
    task = submit(shop, pipeline, "a", "b")
    shop.work()
    assert (shop.client.get(task.id).state, balance(shop)) == ("failed", 100)
    breaks.clear()
    shop.client.retry(task.id)
    shop.completed(task)
    assert balance(shop) == 90
    breaks.append(True)
    shop.client.merge(task.id)
    shop.work()
    assert (shop.client.get(task.id).state, balance(shop)) == ("failed", 90)


def test_a_refund_happens_with_the_move_or_not_at_all(shop: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash between the end of the task and the refund cannot exist: they are one transaction."""
    task = submit(shop, pictures(shop), "bad")

    class Crash(BaseException):
        """The process dies."""

    def crash(*_: Any) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr("fanfold.engine.credits.booking.tell_ledgers", crash)
        with pytest.raises(Crash):
            shop.work()
    assert (shop.client.get(task.id).state, balance(shop)) == ("active", 95)
    shop.sweep()
    assert (shop.client.get(task.id).state, balance(shop)) == ("failed", 100)
    shop.sweep()
    assert balance(shop) == 100


def test_a_person_can_refund_an_item_once(shop: Installation) -> None:
    task = submit(shop, pictures(shop), "a", "b")
    shop.completed(task)
    assert shop.client.credits.refund(task.id, ["p1"], reason="blurred") == 5
    assert shop.client.credits.refund(task.id, ["p1"]) == 0
    assert shop.client.credits.refund(task.id) == 5
    assert balance(shop) == 100
    with pytest.raises(ff.BadInput, match="p9"):
        shop.client.credits.refund(task.id, ["p9"])
    with pytest.raises(ff.BadInput, match="has cost no credits"):
        shop.client.credits.refund(shop.client.submit(batch("free"), items=["a"], owner="ann").id)


def test_the_same_key_grants_once(shop: Installation) -> None:
    first = shop.client.credits.grant("bob", 10, key="2026-11", reason="monthly")
    assert shop.client.credits.grant("bob", 10, key="2026-11") == first
    shop.client.credits.grant("cid", 10, key="2026-11")
    assert (balance(shop, "bob"), balance(shop, "cid")) == (10, 10)
    with pytest.raises(ff.FanfoldError, match="belongs to another entry"):
        shop.client.credits.grant("bob", 11, key="2026-11")
    for amount in (0, -1, 1.5, True, 10**16):
        with pytest.raises(ff.BadInput, match="whole number"):
            shop.client.credits.grant("bob", amount)  # type: ignore[arg-type]


def test_an_owner_sees_and_spends_only_its_own_credits(shop: Installation) -> None:
    shop.client.credits.grant("bob", 3)
    ann = Client(store=shop.store, owner="ann", pipelines=shop.pipelines)
    assert (ann.credits.balance(), [one.owner for one in ann.credits.accounts()]) == (100, ["ann"])
    assert {one.owner for one in ann.credits.entries()} == {"ann"}
    for forbidden in (
        lambda: ann.credits.balance("bob"),
        lambda: ann.credits.entries("bob"),
        lambda: ann.credits.grant("ann", 1),
        lambda: ann.credits.charge("bob", 1),
        lambda: ann.credits.refund("t-1"),
    ):
        with pytest.raises(ff.BadInput, match="Only an administrator"):
            forbidden()
    ann.submit(pictures(shop), items=["a"], owner="bob")
    assert (balance(shop), balance(shop, "bob")) == (95, 3)


@pytest.mark.one_database
def test_nothing_is_charged_without_the_setting_or_without_an_owner(
    database_url: str, tmp_path: Path, shop: Installation
) -> None:
    shop.client.submit(pictures(shop), items=["a"])
    assert balance(shop) == 100
    free = Installation(database_url, tmp_path / "free", None)
    task = free.client.submit(pictures(free), items=["bad"], owner="nobody")
    free.work()
    assert free.client.credits.entries(task=task.id) == []
    free.store.close()


@pytest.mark.one_database
def test_a_price_that_makes_no_sense_is_refused(shop: Installation) -> None:
    for price, why in (
        (-1, "whole number"), (0.5, "whole number"), ({"": 1}, "not the key"), ({"p1": -2}, "whole number"),
        (ff.Price(per_item=1), "submitted without items"), ({str(n): 1 for n in range(10_001)}, "At most 10000"),
    ):  # fmt: skip
        pipeline = one_step(lambda task: None, "odd")
        pipeline.price(lambda work, price=price: price)
        with pytest.raises(ff.BadInput, match=why):
            submit(shop, pipeline)
    with pytest.raises(ff.BadPipeline, match="already has a price"):
        pipeline.price(lambda work: 1)
    assert balance(shop) == 100
    assert shop.client.credits.quote(pictures(shop, task=1), items=["a", "b"]) == 11


def test_another_ledger_is_told_until_it_accepts(
    database_url: str, tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the mode `outside` nothing limits an owner here, and every entry goes out with a key that stays the same."""
    monkeypatch.setenv("FANFOLD_WEBHOOK_SECRET", SECRET)
    shop = Installation(
        database_url, tmp_path / "data", clock, credits="outside", private_addresses="127.0.0.0/8"
    )  # fmt: skip
    shop.know(ledger)
    pipeline = pictures(shop)
    with receiving(answers(410)) as receiver:
        shop.client.webhooks.add("bank", receiver.url, events=["credits"])
        task = submit(shop, pipeline, "bad")
        shop.work()
        for seconds in (*DELAYS, *DELAYS[-1:] * 3):
            clock.advance(seconds + 1)
            shop.work()
        refused = len(receiver.got)
    assert refused >= 2 * (len(DELAYS) + 3), "neither the charge nor the refund is given up"
    assert balance(shop) == 0
    with receiving(answers(200)) as receiver:
        shop.client.webhooks.add("bank", receiver.url, events=["credits"])
        clock.advance(DELAYS[-1] + 1)
        shop.work()
        booked = [entry for _, body in receiver.got for entry in _entries_of(body)]
    assert sorted((one["key"], one["amount"]) for one in booked) == [
        (f"charge:{task.id}:p1:0", -5), (f"refund:{task.id}:p1:0", 5),
    ]  # fmt: skip
    assert [one.state for one in shop.client.list(pipeline=ledger.name)] == ["completed"] * 2
    shop.store.close()


def _entries_of(body: bytes) -> list[dict[str, Any]]:
    import json

    found = json.loads(body)
    assert found["type"] == "credits.booked"
    return list(found["data"]["entries"])
