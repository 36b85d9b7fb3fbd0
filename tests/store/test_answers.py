"""Answers are stored once, and the ledger is right."""

from typing import Any

import fanfold as ff
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.model.endings import Ending
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation


def test_a_question_is_asked_by_one_at_a_time(installation: Installation, clock: HandClock) -> None:
    with installation.store.write() as tx:
        assert tx.answers.begin("k", "one", 60)
        assert not tx.answers.begin("k", "other", 60)
        assert tx.answers.begin("k", "one", 60), "the same one may ask again"
    clock.advance(61)
    with installation.store.write() as tx:
        assert tx.answers.begin("k", "other", 60), "the first one has died"
        tx.answers.give_up("k", "one")
        assert not tx.answers.begin("k", "one", 60), "only the one who asks may give up"
        tx.answers.give_up("k", "other")
        assert tx.answers.begin("k", "one", 60)


def test_what_a_dead_worker_began_to_ask_is_asked_at_once(installation: Installation, clock: HandClock) -> None:
    installation.client.submit(installation.know(batch()), items=["a"])
    [claimed] = installation.worker("w").claim()
    with installation.store.write() as tx:
        assert tx.answers.begin("k", "one", 600, claimed.id, 15)
        assert not tx.answers.begin("k", "other", 600, claimed.id, 15)
    clock.advance(16)
    living = installation.worker("living")
    installation.client.submit(installation.know(batch()), items=["b"])
    [other] = living.claim(1)
    with installation.store.write() as tx:
        tx.answers.begin("another", "living", 600, other.id, 15)
        tx.answers.keep("answered", "x")
        assert tx.answers.begin("k", "other", 600, other.id, 15), "its worker has sent no heartbeat"
        assert tx.answers.begin("plain", "one", 600)
        assert not tx.answers.begin("plain", "other", 600), "without a worker only the time counts"


def test_an_answer_is_kept_whoever_asked_and_ends_the_asking(installation: Installation, clock: HandClock) -> None:
    with installation.store.write() as tx:
        tx.answers.begin("k", "one", 60)
    clock.advance(100)
    with installation.store.write() as tx:
        tx.answers.begin("k", "other", 60)
        tx.answers.keep("k", "late but paid")
        assert not tx.answers.begin("k", "other", 60)
        tx.answers.give_up("k", "other")
        assert tx.answers.get("k") == "late but paid"
        assert tx.answers.get("unknown") is None


def test_old_answers_go(installation: Installation, clock: HandClock) -> None:
    with installation.store.write() as tx:
        tx.answers.keep("old", "x")
    clock.advance(10 * 86_400)
    with installation.store.write() as tx:
        tx.answers.keep("new", "y")
        tx.answers.begin("asked", "one", 60)
        assert tx.answers.drop_old(9, 100) == 1
        assert (tx.answers.get("old"), tx.answers.get("new")) == (None, "y")


def test_the_ledger_adds_up_per_item_and_task(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    worker = installation.worker("w")
    first, second = worker.claim()
    rows = [
        {"item": first.id, "outcome": "taken", "input_tokens": 10, "output_tokens": 1, "cost": 0.5},
        {"item": first.id, "outcome": "refusal", "input_tokens": 20, "output_tokens": 2, "cost": None},
        {"item": second.id, "outcome": "cached"},
        {"item": 999_999, "outcome": "taken", "cost": 7.0},
    ]
    with installation.store.write() as tx:
        tx.calls.add([{"lease": 1, "provider": "p", "model": "m", "seconds": 0.1, **row} for row in rows])
    spent = installation.client.get(task.id).spending
    assert (spent.calls, spent.cached, spent.unpriced, spent.cost) == (2, 1, 1, 0.5)
    assert (spent.input_tokens, spent.output_tokens, spent.model) == (30, 3, "p:m")
    one, other = (item.spending for item in installation.client.items(task.id))
    assert (one.calls, one.cost, other.calls, other.cached) == (2, 0.5, 0, 1)
    assert [call.item for call in installation.client.calls(task.id)] == ["1", "1", "2"]
    assert [call.outcome for call in installation.client.calls(task.id, "2")] == ["cached"]


def test_a_call_in_the_air_is_possibly_paid_when_its_attempt_is_gone(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    worker = installation.worker("w")
    first, second = worker.claim()
    said = {"provider": "p", "model": "m"}
    with installation.store.write() as tx:
        lost = tx.calls.begin({"item": first.id, "lease": first.lease, **said})
        kept = tx.calls.begin({"item": second.id, "lease": second.lease, **said})
        refused = tx.calls.begin({"item": second.id, "lease": second.lease, **said})
        assert tx.calls.begin({"item": 999_999, "lease": 1, **said}) is None
        assert lost is not None
        assert kept is not None
        assert refused is not None
        tx.calls.withdraw(refused)
    under_way = installation.client.get(task.id).spending
    assert (under_way.calls, under_way.possibly_paid) == (0, 0)
    with installation.store.write() as tx:
        assert tx.calls.settle(kept, {"outcome": "taken", "cost": 0.5, "seconds": 1.0, **said})
    worker.finish(first, second)
    spent = installation.client.get(task.id).spending
    assert (spent.calls, spent.unpriced, spent.cost, spent.possibly_paid) == (1, 0, 0.5, 1)
    assert [item.spending.possibly_paid for item in installation.client.items(task.id)] == [1, 0]
    assert [call.outcome for call in installation.client.calls(task.id)] == ["asked", "taken"]


def test_a_call_of_an_earlier_attempt_is_possibly_paid_while_the_next_one_runs(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"])
    worker = installation.worker("w")
    [first] = worker.claim()
    with installation.store.write() as tx:
        tx.calls.begin({"item": first.id, "lease": first.lease, "provider": "p", "model": "m"})
    worker.settle(Settlement(first, Ending.RELEASE))
    [second] = worker.claim()
    assert (second.id, second.lease) == (first.id, first.lease + 1)
    assert installation.client.get(task.id).spending.possibly_paid == 1


def test_what_a_handler_used_by_itself_counts_as_well(installation: Installation) -> None:
    def handler(item: Any) -> str:
        item.used(model="mine", input_tokens=10, output_tokens=2, cost=0.25)
        if item.attempt == 1:
            raise ff.Temporary("again", after=0)
        return "done"

    task = installation.client.submit(installation.know(batch(handler=handler, retry=ff.Retry(limit=1))), items=["a"])
    installation.worker("w").run()
    spent = installation.client.get(task.id).spending
    assert (spent.calls, spent.cost, spent.input_tokens, spent.model) == (2, 0.5, 20, "own:mine")


def test_what_is_said_for_single_items_adds_up(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    worker = installation.worker("w")
    worker.finish(*worker.claim())
    installation.client.retry(task.id, ["1"], options={"model": "large"})
    worker.finish(*worker.claim())
    installation.client.retry(task.id, ["1"], options={"effort": 3})
    [again] = worker.claim()
    assert again.options is not None
    assert '"model": "large"' in again.options
    assert '"effort": 3' in again.options
    assert '"$redone": "' in again.options, "who has a good answer and asks again wants another one"
