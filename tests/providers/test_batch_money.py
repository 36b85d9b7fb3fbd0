"""Money in the batch lane: shared budgets count even if the task is deleted, and estimates learn from batches."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.model.money.amounts import dollars
from fanfold.providers.costs.call_budget import BudgetSpent
from fanfold.store.rows.money.budgets import BudgetRow
from tests.ai_protocol import Reply
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.waiting import eventually

QUICK = {"batch_quiet_seconds": 0.3, "batch_poll_seconds": 0.2, "batch_trial": 0}


@pytest.fixture
def live(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """An installation with real workers that send batches soon, and with a budget for all tasks of an owner."""
    settings = tmp_path / "fanfold.toml"
    settings.write_text("[budgets]\nowner = 100\n")
    monkeypatch.chdir(tmp_path)
    made = Live(database_url, tmp_path / "data", **QUICK)
    yield made
    made.store.close()


@pytest.fixture(autouse=True)
def fake_has_batches(ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BATCH", "1")
    ai.answer(lambda call: Reply(text=f"You said {call.prompt}", output_tokens=1_000))


async def ask(item: Any) -> str:
    answer = await item.ask(str(item.input))
    return str(answer.text)


def submitted(live: Live, items: list[str], lane: str = "batch") -> ff.Task:
    return live.client.submit(live.know(batch(handler=ask)), items=items, options={"lane": lane}, owner="alice")


def shared(live: Live) -> BudgetRow:
    """The budget of the owner."""
    with live.store.read() as tx:
        row = tx.budgets.get("owner@:alice")
    assert row is not None
    return row


def is_running(live: Live) -> bool:
    return [one.state for one in live.client.batches()] == ["running"]


def deleted(live: Live, task: ff.Task) -> None:
    live.client.cancel(task.id)
    live.client.delete(task.id)


def test_a_deleted_task_gives_back_what_its_collected_questions_reserved(live: Live, ai: AIServer) -> None:
    live.store.settings.__dict__["batch_quiet_seconds"] = 3_600.0
    task = submitted(live, ["one", "two"])
    with live.working():
        eventually(lambda: live.client.get(task.id).batched.collected == 2)
        assert shared(live).reserved > 0
        deleted(live, task)
        eventually(lambda: shared(live).reserved == 0)
    assert (ai.batches.batches, shared(live).spent) == ({}, 0)


def test_a_deleted_task_pays_what_its_batch_has_answered_and_gives_back_the_rest(live: Live, ai: AIServer) -> None:
    ai.batches.held = True
    ai.batches.expires = lambda prompt: prompt == "expires"
    task = submitted(live, ["answered", "expires"])
    with live.working(concurrency=4):
        eventually(lambda: is_running(live))
        [sent] = ai.batches.batches.values()
        ai.batches.finish(sent)
        deleted(live, task)
        eventually(lambda: [one.state for one in live.client.batches()] == ["done"])
        eventually(lambda: shared(live).reserved == 0)
    assert dollars(shared(live).spent) == pytest.approx(1.0)
    assert ai.batches.paid == {"answered": 1}
    with live.store.read() as tx:
        assert tx.batched.counts([1]) == {}


def test_a_deleted_tasks_question_is_still_answered_for_another_task_and_paid_once(live: Live, ai: AIServer) -> None:
    ai.batches.held = True
    first = submitted(live, ["same"])
    with live.working(concurrency=4):
        eventually(lambda: is_running(live))
        second = submitted(live, ["same"])
        eventually(lambda: live.client.get(second.id).batched.collected == 1)
        [sent] = ai.batches.batches.values()
        ai.batches.finish(sent)
        deleted(live, first)
        live.until(second, "completed")
    assert live.client.result(second.id) == ["You said same"]
    assert ai.batches.paid == {"same": 1}
    assert dollars(shared(live).spent) == pytest.approx(1.0)
    assert shared(live).reserved == 0


def test_estimates_learn_from_batches_as_from_live_calls(live: Live, ai: AIServer) -> None:
    pipeline = live.know(batch(handler=ask))
    with live.working(concurrency=4):
        live.until(submitted(live, ["one", "two"]), "completed")
        live.until(submitted(live, ["three", "four"], lane="live"), "completed")
    assert (sum(ai.batches.paid.values()), len(ai.paid)) == (2, 2)
    with live.store.read() as tx:
        history = tx.usage_history.of("batch", "fake", "fake-large")
    assert sum(bucket.calls for bucket in history) == 4
    assert {round(dollars(bucket.cost) / bucket.calls, 6) for bucket in history} == {2.0}, "at the live price"
    made = live.client.estimate(pipeline, items=list(range(10)))
    lanes = {lane.lane: lane.expected for lane in made.lanes}
    assert lanes == {"live": pytest.approx(20.0), "batch": pytest.approx(10.0)}


def test_a_budget_that_a_batch_nearly_uses_up_is_warned_of(live: Live, ai: AIServer) -> None:
    pipeline = live.know(batch(handler=ask))
    task = live.client.submit(pipeline, items=["one"], options={"lane": "batch"}, budget=1.1)
    with live.working():
        live.until(task, "completed")
    assert [event.verb for event in live.client.events(task.id)].count("budget") == 1


def test_a_question_of_a_batch_needs_room_for_the_price_of_a_batch(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanfold.providers.batches.question_lane.BUDGET_SECONDS", 1.0)
    monkeypatch.setattr("fanfold.providers.costs.measured_costs.READ_SECONDS", 0.0)
    pipeline = live.know(batch(handler=ask))
    first = live.client.submit(pipeline, items=["zero"], options={"lane": "batch"})
    with live.working():
        live.until(first, "completed")  # So that the cost of a question is known: $2, in a batch $1.
        task = live.client.submit(pipeline, items=["one", "two"], options={"lane": "batch"}, budget=1.5)
        paused = live.until(task, "paused")
    assert "the next call may cost $1.0" in (paused.wait_reason or "")
    assert live.client.budget(task.id).spent == pytest.approx(1.0)


def test_an_item_that_waits_for_room_in_a_budget_goes_on_when_it_is_raised(live: Live) -> None:
    tries: list[str] = []

    async def waits(item: Any) -> str:
        tries.append(item.key)
        if len(tries) == 1:
            raise ff.Temporary("All is reserved.", after=3_600, counts=False, code=BudgetSpent.code)
        return "done"

    task = live.client.submit(live.know(batch("waits", handler=waits)), items=["one"], budget=1)
    with live.working():
        eventually(lambda: "All is reserved" in repr(list(live.client.items(task.id))))
        live.client.raise_budget(task.id, by=1)
        live.until(task, "completed")
