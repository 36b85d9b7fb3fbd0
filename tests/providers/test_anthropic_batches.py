"""Anthropic's message batches have no metadata, results in any order, and members with four kinds of outcome."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

import fanfold as ff
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.waiting import eventually

QUICK = {"batch_quiet_seconds": 0.3, "batch_poll_seconds": 0.2, "batch_trial": 0}


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers, whose batches are sent soon."""
    made = Live(database_url, tmp_path, **QUICK)
    yield made
    made.store.close()


@pytest.fixture(autouse=True)
def fake_speaks_anthropic(ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_KIND", "anthropic")
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BASE_URL", ai.url)
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BATCH", "1")
    monkeypatch.setattr("fanfold.providers.batches.batch_round.AGAIN_SECONDS", 0.2)
    ai.answer(lambda call: f"You said {call.prompt}")


async def ask(item: Any) -> str:
    answer = await item.ask(str(item.input))
    return str(answer.text)


def submitted(live: Live, items: list[str], **how: Any) -> ff.Task:
    return live.client.submit(live.know(batch(handler=ask)), items=items, options={"lane": "batch"}, **how)


def run(live: Live, items: list[str], state: str = "completed", **how: Any) -> ff.Task:
    task = submitted(live, items, **how)
    with live.working(concurrency=8):
        return live.until(task, state)


def is_running(live: Live) -> bool:
    return [one.state for one in live.client.batches()] == ["running"]


def test_questions_are_answered_in_one_batch_at_half_price_and_nothing_is_left_there(live: Live, ai: AIServer) -> None:
    task = run(live, ["one", "two", "three"], budget=100.0)
    assert live.client.result(task.id) == ["You said one", "You said two", "You said three"]
    assert ai.batches.paid == {"one": 1, "two": 1, "three": 1}
    assert ai.calls == []
    assert task.spending.calls == 3
    assert task.spending.cost == pytest.approx(1.5, abs=0.1)
    budget = live.client.budget(task.id)
    assert budget is not None
    assert budget.spent == pytest.approx(task.spending.cost)
    assert budget.reserved == 0
    eventually(lambda: ai.batches.batches == {})
    [sent] = live.client.batches()
    assert (sent.state, sent.questions, sent.answered, sent.failed) == ("done", 3, 3, 0)


def test_a_batch_is_looked_at_until_it_has_ended(live: Live, ai: AIServer) -> None:
    ai.batches.held = True
    task = submitted(live, ["one"])
    with live.working():
        eventually(lambda: is_running(live))
        live.item_is(task, "waiting")
        ai.batches.held = False
        live.until(task, "completed")
    assert ai.batches.paid == {"one": 1}


def test_each_member_ends_in_its_own_way(live: Live, ai: AIServer) -> None:
    """Answered questions are taken, expired ones go into the next batch unpaid, others fail with the service's reason."""
    expired: set[str] = set()

    def expires(prompt: str) -> bool:
        is_first = prompt == "late" and prompt not in expired
        expired.add(prompt)
        return is_first

    ai.batches.expires = expires
    wrong = {"type": "invalid_request_error", "message": "too long"}
    ai.batches.refuses = lambda prompt: wrong if prompt == "bad" else None
    task = run(live, ["good", "late", "bad"], state="partial")
    assert ai.batches.paid == {"good": 1, "late": 1}
    assert task.spending.calls == 2
    [failed] = [item for item in live.client.items(task.id) if item.state == "failed"]
    assert (failed.error_code, "too long" in (failed.error_message or "")) == ("rejected", True)
    assert [(one.questions, one.answered, one.failed) for one in live.client.batches()] == [(1, 1, 0), (3, 1, 1)]


def test_an_overloaded_member_goes_into_the_next_batch(live: Live, ai: AIServer) -> None:
    refused: list[str] = []

    def refuses(prompt: str) -> dict[str, Any] | None:
        refused.append(prompt)
        return {"type": "overloaded_error", "message": "Overloaded"} if refused.count("one") == 1 else None

    ai.batches.refuses = refuses
    pipeline = live.know(batch(handler=ask, retry=ff.Retry(limit=2, first=0.1)))
    task = live.client.submit(pipeline, items=["one"], options={"lane": "batch"})
    with live.working():
        live.until(task, "completed")
    assert (ai.batches.paid, refused) == ({"one": 1}, ["one", "one"])


def test_a_cancelled_task_cancels_its_batch_at_the_service_and_pays_nothing(live: Live, ai: AIServer) -> None:
    ai.batches.held = True
    task = submitted(live, ["one", "two"], budget=10.0)
    with live.working():
        eventually(lambda: is_running(live))
        live.client.cancel(task.id)
        eventually(lambda: [one.state for one in live.client.batches()] == ["done"])
    assert ai.batches.paid == {}
    budget = live.client.budget(task.id)
    assert budget is not None
    assert (budget.spent, budget.reserved) == (0, 0)


@pytest.mark.slow
def test_results_that_break_off_are_read_again_and_counted_once(live: Live, ai: AIServer) -> None:
    """The first half of the results is written; the second reading skips what was written."""
    items = [f"question {number}" for number in range(250)]
    ai.batches.held = True
    task = submitted(live, items)
    with live.working(concurrency=8):
        eventually(lambda: is_running(live))
        [job] = ai.batches.batches
        ai.batches.faults.append((f"GET /v1/messages/batches/{job}/results", "half"))
        ai.batches.held = False
        eventually(lambda: 0 < live.client.get(task.id).batched.answered < 250)
        done = live.until(task, "completed", 100)
    assert done.spending.calls == 250
    assert set(ai.batches.paid.values()) == {1}


class TestACreateWithoutAReply:
    """The batch may exist. It has no metadata, so it is recognised by the ids of its requests once it has results."""

    def test_makes_no_second_batch(self, live: Live, ai: AIServer) -> None:
        ai.batches.faults.append(("POST /v1/messages/batches", "reset"))
        task = run(live, ["one", "two"])
        assert live.client.result(task.id) == ["You said one", "You said two"]
        assert ai.batches.paid == {"one": 1, "two": 1}

    def test_waits_while_a_batch_of_the_same_size_is_not_over(self, live: Live, ai: AIServer) -> None:
        ai.batches.held = True
        ai.batches.faults.append(("POST /v1/messages/batches", "reset"))
        task = submitted(live, ["one", "two"])
        with live.working():
            eventually(lambda: "may be" in str([one.reason for one in live.client.batches()]))
            assert len(ai.batches.batches) == 1
            ai.batches.held = False
            live.until(task, "completed")
        assert ai.batches.paid == {"one": 1, "two": 1}

    def test_is_repeated_when_nothing_was_created_though_others_have_batches_of_their_own(
        self, live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("fanfold.providers.batches.batch_round.FIND_SECONDS", 0.5)
        foreign(ai, "same size", "but not ours")
        ai.batches.finish(next(iter(ai.batches.batches.values())))
        ai.batches.held = True
        foreign(ai, "another size, and not over")
        ai.batches.faults.append(("POST /v1/messages/batches", "504"))
        task = submitted(live, ["one", "two"])
        with live.working():
            eventually(lambda: is_running(live))
            [job] = [one.job for one in live.client.batches()]
            ai.batches.finish(ai.batches.batches[str(job)])
            live.until(task, "completed")
        assert {name: ai.batches.paid[name] for name in ("one", "two")} == {"one": 1, "two": 1}


def foreign(ai: AIServer, *prompts: str) -> None:
    """Make a batch as another program with the same API key would."""
    requests: Any = [
        {
            "custom_id": f"other-{number}",
            "params": {"model": "fake-large", "max_tokens": 9, "messages": [{"role": "user", "content": prompt}]},
        }
        for number, prompt in enumerate(prompts)
    ]
    with anthropic.Anthropic(base_url=ai.url, api_key="sk-ant-test", max_retries=0, timeout=60) as client:
        client.messages.batches.create(requests=requests)
