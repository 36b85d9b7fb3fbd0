"""A task is stopped before it exceeds its budget, and continues when the budget is raised."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.model.money.amounts import dollars
from fanfold.model.text.sentences import Sentence
from fanfold.providers.costs.call_budget import CallBudget, CallPlan
from fanfold.providers.question_asker import QuestionAsker
from tests.ai_protocol import Call, Reply
from tests.ai_server import AIServer
from tests.engine.live import Live, Switch
from tests.engine.pipelines import batch
from tests.waiting import eventually


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers."""
    made = Live(database_url, tmp_path / "data")
    yield made
    made.store.close()


@pytest.fixture
def sqlite_live(sqlite_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers, on SQLite only."""
    made = Live(sqlite_url, tmp_path / "data")
    yield made
    made.store.close()


async def ask(item: Any) -> str:
    """Ask one question and return the answer, as most handlers do."""
    answer = await item.ask(str(item.input), **item.options.get("parameters", {}))
    return str(answer.text)


def asking(name: str = "batch", **rules: Any) -> ff.Pipeline:
    return batch(name, handler=ask, **{"retry": ff.Retry(limit=0), **rules})


def priced(output_tokens: int) -> Reply:
    """An answer that costs one dollar, plus a thousandth of a dollar for each of its tokens."""
    return Reply(text="yes", output_tokens=output_tokens)


def code_of(reason: str | None) -> str:
    """The code of a budget's sentence, also if it is part of the sentence that says why the task is paused."""
    assert isinstance(reason, Sentence), reason
    if reason.code == "paused_because":
        return str(reason.parameters["why"]["code"])
    return reason.code


def test_a_task_stops_at_its_budget_and_goes_on_when_it_is_raised(live: Live, ai: AIServer) -> None:
    ai.answer(priced(0))
    task = live.client.submit(live.know(asking()), items=list(range(12)), budget="5.50")
    with live.working(concurrency=4):
        paused = live.until(task, "paused")
        eventually(lambda: live.client.budget(task.id).reserved == 0)
        assert code_of(paused.wait_reason) == "budget_spent"
        assert "of $5.50 spent" in str(paused.wait_reason)
        assert f"fanfold budget {task.id} --raise" in str(paused.wait_reason)
        budget = live.client.budget(task.id)
        assert (budget.cap, budget.spent, budget.unknown) == (5.5, 5.0, 0.0)
        assert len(ai.paid) == 5, "nothing more was asked"
        assert [item.failures for item in live.client.items(task.id)] == [0] * 12
        assert live.client.raise_budget(task.id, by=20).state == "active"
        done = live.until(task, "completed")
    assert (done.failed, len(ai.paid)) == (0, 12), "no answer was paid for twice"
    assert live.client.budget(task.id).spent == 12.0 == pytest.approx(done.spending.cost)
    verbs = [event.verb for event in live.client.events(task.id)]
    assert verbs.count("pause") == 1


async def careless(item: Any) -> str:
    """A handler that continues whatever happens."""
    try:
        return await ask(item)
    except Exception as error:
        return f"gave up: {error}"


async def grouped(item: Any) -> str:
    """A handler that asks in a task group, which wraps what its tasks raise."""
    try:
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(ask(item))
    except Exception as error:
        return f"gave up: {error}"
    return asked.result()


@pytest.mark.parametrize("handler", [careless, grouped])
def test_a_handler_that_catches_everything_does_not_make_results_of_a_spent_budget(
    live: Live, ai: AIServer, handler: Any
) -> None:
    ai.answer(priced(0))
    pipeline = live.know(batch("careless", handler=handler, retry=ff.Retry(limit=0)))
    task = live.client.submit(pipeline, items=list(range(8)), budget="3.50")
    with live.working(concurrency=2):
        paused = live.until(task, "paused")
        assert code_of(paused.wait_reason) == "budget_spent"
        live.client.raise_budget(task.id, by=20)
        live.until(task, "completed")
    assert [live.client.output(task.id, str(number)) for number in range(1, 9)] == ["yes"] * 8
    assert len(ai.paid) == 8


def test_a_small_raise_does_not_resume_what_is_still_over(live: Live, ai: AIServer) -> None:
    ai.answer(priced(2_000))
    task = live.client.submit(live.know(asking()), items=[1, 2], budget=0.5)
    with live.working(concurrency=1):
        live.until(task, "paused")
        assert live.client.budget(task.id).spent == 3.0, "one call is always let through"
        assert live.client.raise_budget(task.id, by=1).state == "paused"
        assert live.client.raise_budget(task.id, to=10).state == "active"
        live.until(task, "completed")


@pytest.mark.parametrize("varied", [False, True])
def test_200_calls_at_once_on_4_workers_stay_within_the_bound(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch, varied: bool
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_CONCURRENCY", "50")
    dearest, cap = (2.0 if varied else 1.0), 60.0
    beyond: list[float] = []
    settle = CallBudget.settle

    def noted(self: CallBudget, tx: Any, plan: CallPlan, row: Any) -> None:
        beyond.append(max(0.0, row["cost"] - dollars(plan.amount)))
        settle(self, tx, plan, row)

    def answer(call: Call) -> Reply:
        return priced(1_000 if varied and int(call.prompt) % 7 == 0 else 0)

    monkeypatch.setattr(CallBudget, "settle", noted)
    ai.answer(answer)
    ai.always("held")
    task = live.client.submit(live.know(asking()), items=list(range(200)), budget=cap)
    with ExitStack() as workers:
        for _ in range(4):
            workers.enter_context(live.working(concurrency=50))
        eventually(lambda: ai.waiting >= 40, 120)
        ai.release()
        live.until(task, "paused", 120)
        eventually(lambda: live.client.budget(task.id).reserved == 0)
    spent = live.client.budget(task.id).spent
    paid = sum(2.0 if varied and int(call.prompt) % 7 == 0 else 1.0 for call in ai.paid)
    assert spent == paid, "the budget counts what the service was paid"
    assert spent <= cap + sum(beyond), "beyond the cap is at most what calls cost beyond what they reserved"
    assert varied or spent <= cap
    assert spent > cap - 2 * 1.1 * dearest, "it is not stopped with much left"
    assert live.client.get(task.id).failed == 0


def test_what_may_have_been_paid_stays_reserved(live: Live, ai: AIServer) -> None:
    ai.answer(priced(0))
    ai.next("drop")
    task = live.client.submit(live.know(asking(retry=ff.Retry(limit=3, first=0.01))), items=[1], budget=10)
    with live.working():
        done = live.until(task, "completed")
    budget = live.client.budget(task.id)
    assert (budget.spent, budget.reserved, done.spending.possibly_paid) == (1.0, 0.0, 1)
    assert budget.unknown > 0.5
    assert budget.left == pytest.approx(10 - 1.0 - budget.unknown)


def test_what_was_refused_is_released(live: Live, ai: AIServer) -> None:
    ai.answer(priced(0))
    ai.next("429-soon", "503", "429-soon")
    task = live.client.submit(live.know(asking(retry=ff.Retry(limit=3, first=0.01))), items=[1, 2], budget=10)
    with live.working():
        live.until(task, "completed")
    budget = live.client.budget(task.id)
    assert (budget.spent, budget.reserved, budget.unknown) == (2.0, 0.0, 0.0)


def test_bad_answers_count(live: Live, ai: AIServer) -> None:
    ai.answer(priced(0))
    ai.next("empty", "empty")
    task = live.client.submit(live.know(asking()), items=[1], budget=10)
    with live.working():
        live.until(task, "failed")
    assert live.client.budget(task.id).spent == len(ai.paid) == 2


def test_kept_answers_cost_nothing(live: Live, ai: AIServer) -> None:
    first = live.client.submit(live.know(asking()), items=[1, 2])
    with live.working():
        live.until(first, "completed")
        second = live.client.submit(live.pipelines[0], items=[1, 2], budget=0)
        live.until(second, "completed")
        third = live.client.submit(live.pipelines[0], items=[3], budget=0)
        live.until(third, "paused")
    assert live.client.budget(second.id).spent == 0
    assert len(ai.paid) == 2


def test_a_strict_budget_is_never_exceeded(live: Live, ai: AIServer) -> None:
    ai.answer(priced(0))
    options = {"parameters": {"max_tokens": 3_000}}
    tight = live.client.submit(live.know(asking()), items=[1], budget=2, strict_budget=True, options=options)
    roomy = live.client.submit(live.pipelines[0], items=[2, 3], budget=3.5, strict_budget=True, options=options)
    with live.working(concurrency=2):
        paused = live.until(tight, "paused")
        assert code_of(paused.wait_reason) == "budget_too_small"
        assert code_of(live.until(roomy, "paused").wait_reason) == "budget_spent"
        assert live.client.raise_budget(tight.id, to=4).state == "active"
        live.until(tight, "completed")
    assert live.client.budget(roomy.id).spent == 1.0, "a second call might have cost three dollars"


def test_a_strict_budget_reserves_what_calls_have_really_cost_if_that_is_more(live: Live, ai: AIServer) -> None:
    """This service does not keep to max_tokens: each answer costs four dollars, where two are the computed maximum."""
    ai.answer(priced(3_000))
    options = {"parameters": {"max_tokens": 1_000}}
    task = live.client.submit(live.know(asking()), items=[1, 2], budget=6.5, strict_budget=True, options=options)
    with live.working(concurrency=1):
        live.until(task, "paused")
        assert live.client.budget(task.id).spent == 4.0, "the second call would have exceeded the budget"
        live.client.raise_budget(task.id, to=20)
        live.until(task, "completed")


def test_an_unknown_price_needs_consent(live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FANFOLD_PROVIDERS_FAKE_PRICE_INPUT")
    task = live.client.submit(live.know(asking()), items=[1, 2], budget=1)
    agreed = live.client.submit(live.pipelines[0], items=[3], budget=1, allow_unknown_cost=True)
    free = live.client.submit(live.pipelines[0], items=[4])
    with live.working():
        paused = live.until(task, "paused")
        assert code_of(paused.wait_reason) == "budget_price_unknown"
        live.until(agreed, "completed")
        live.until(free, "completed")
        assert "1" not in [call.prompt for call in ai.calls]
        assert live.client.raise_budget(task.id, allow_unknown_cost=True).state == "active"
        live.until(task, "completed")
    assert live.client.budget(task.id).unpriced == 2


def test_people_are_warned_once_when_most_is_spent(live: Live, ai: AIServer) -> None:
    ai.answer(priced(0))
    task = live.client.submit(live.know(asking()), items=list(range(6)), budget=7)
    with live.working(concurrency=1):
        live.until(task, "completed")
    [warning] = [event for event in live.client.events(task.id) if event.verb == "budget"]
    assert code_of(warning.reason) == "budget_warning"
    assert str(warning.reason) == "86 % of the budget is spent: $6.00 of $7.00"


def test_the_same_question_of_a_task_without_a_budget_is_asked(live: Live, ai: AIServer) -> None:
    live.know(asking())
    poor = live.client.submit(live.pipelines[0], items=["same"], budget=0)
    rich = live.client.submit(live.pipelines[0], items=["same"])
    with live.working(concurrency=2):
        live.until(rich, "completed")
        eventually(lambda: live.client.get(poor.id).state in ("paused", "completed"))
    assert len(ai.paid) == 1


def test_a_budget_can_be_set_while_a_task_runs(live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanfold.providers.costs.call_budget.LOOK_SECONDS", 0.0)
    ai.answer(priced(0))
    ai.next("answer", "answer", "held")
    task = live.client.submit(live.know(asking()), items=list(range(9)))
    with live.working(concurrency=1):
        eventually(lambda: ai.waiting == 1 and len(ai.paid) == 2)
        with pytest.raises(ff.BadInput, match="has no budget"):
            live.client.raise_budget(task.id, by=1)
        assert live.client.budget(task.id).cap is None
        live.client.raise_budget(task.id, to=4.5)
        assert live.client.budget(task.id).spent == 2.0, "what was spent before counts"
        ai.release()
        live.until(task, "paused")
    assert len(ai.paid) in (4, 5)


def test_the_budget_of_a_provider_holds_for_all_tasks(
    live: Live, ai: AIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fanfold.providers.costs.call_budget.LOOK_SECONDS", 0.0)
    settings = tmp_path / "fanfold.toml"
    settings.write_text(
        '[budgets]\nowner = 2.1\n[budgets.owners]\nalice = 100\n[budgets.providers]\nfake = "4.2 per day"\n'
    )
    ai.answer(priced(0))
    live.know(asking())
    other = live.client.submit(live.pipelines[0], items=[1, 2, 3], owner="bob")
    with live.working(concurrency=1):
        assert code_of(live.until(other, "paused").wait_reason) == "budget_shared_spent"
        assert "The budget of owner bob is used up: $2.00 of $2.10 spent" in str(live.client.get(other.id).wait_reason)
        hers = live.client.submit(live.pipelines[0], items=[4, 5, 6], owner="alice")
        paused = live.until(hers, "paused")
        assert "The budget of provider fake for 20" in str(paused.wait_reason)
        assert len(ai.paid) == 4
        settings.write_text('[budgets]\nday = 50\n[budgets.providers]\nfake = "40 per day"\n')
        for task in (other, hers):
            live.client.resume(task.id)
            live.until(task, "completed")
    assert len(ai.paid) == 6


def test_what_a_handler_has_spent_itself_counts(live: Live, ai: AIServer) -> None:
    async def pay(item: Any) -> str:
        item.used(cost=1.25, model="own")
        return await ask(item) if item.input == "ask" else "paid"

    ai.answer(priced(0))
    task = live.client.submit(live.know(batch(handler=pay)), items=["a", "b", "ask"], budget=3)
    with live.working(concurrency=1):
        paused = live.until(task, "paused")
    assert code_of(paused.wait_reason) == "budget_spent"
    assert live.client.budget(task.id).spent >= 2.5
    assert ai.calls == []
    codes = [event.reason.code for event in live.client.events(task.id) if isinstance(event.reason, Sentence)]
    assert codes.count("budget_warning") == 1


@pytest.mark.parametrize("died", [False, True])
def test_a_lost_call_repeated_under_its_key_gives_its_reservation_back(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch, died: bool
) -> None:
    """The service treats both as one call, so only one is paid, even if the process died while the first was in flight."""
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_IDEMPOTENCY_HEADER", "Idempotency-Key")
    ai.answer(priced(0))
    ai.next("reset")
    if died:
        monkeypatch.setattr(QuestionAsker, "_give_up", lambda here, key, *_: forget_question(here, key))
    pipeline = live.know(asking(retry=ff.Retry(limit=2, first=0.01)))
    task = live.client.submit(pipeline, items=[1], budget=10.0)
    with live.working():
        live.until(task, "completed")
    eventually(lambda: live.client.budget(task.id).reserved == 0)
    budget = live.client.budget(task.id)
    assert (len(ai.calls), len(ai.paid)) == (2, 1)
    assert (budget.spent, budget.reserved, budget.unknown) == (1.0, 0.0, 0.0)


def forget_question(here: QuestionAsker, key: str) -> None:
    """Leave the state that a dead worker leaves: the question is free to be asked, and its call is in the ledger."""
    with here.store.write() as tx:
        tx.answers.give_up(key, here.asker)


def test_half_done_items_do_not_raise_the_projected_cost(live: Live, ai: AIServer) -> None:
    """Each item asks two questions for a dollar each. Three of four items have asked one, and one item is done."""
    ai.answer(priced(0))
    switch = Switch()

    async def ask_twice(item: Any) -> str:
        await item.ask(f"first of {item.input}")
        if item.input != "a":
            await asyncio.to_thread(switch.wait)
        return str((await item.ask(f"second of {item.input}")).text)

    task = live.client.submit(live.know(batch(handler=ask_twice)), items=["a", "b", "c", "d"], budget=100)
    with live.working(concurrency=4):
        eventually(lambda: live.client.get(task.id).done == 1 and live.client.budget(task.id).spent == 5.0)
        assert live.client.budget(task.id).projected == 8.0
        switch.free.set()
        live.until(task, "completed")
    assert live.client.budget(task.id).projected == 8.0


def test_the_projected_cost_is_unknown_before_another_stage_with_items(live: Live, ai: AIServer) -> None:
    """The first stage has cost two dollars. What the second one costs, behind its gate, nobody can say yet."""
    ai.answer(priced(0))
    pipeline = ff.Pipeline("twice")

    @pipeline.each
    async def first(item: Any) -> str:
        return str((await item.ask(f"first of {item.input}")).text)

    @pipeline.each(gate=True)
    async def second(item: Any) -> str:
        return str((await item.ask(f"second of {item.key}")).text)

    task = live.client.submit(live.know(pipeline), items=["a", "b"])
    with live.working():
        live.until(task, "waiting")
        assert (live.client.budget(task.id).spent, live.client.budget(task.id).projected) == (2.0, None)
        live.client.resume(task.id)
        live.until(task, "completed")
    assert live.client.budget(task.id).projected == 4.0
