"""Batches that a service no longer has, or does not tell about: people see it, and have a way out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fanfold.providers.batches import batch_round
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.providers.test_batches import QUICK, ask
from tests.waiting import eventually


@pytest.fixture
def live(database_url: str, tmp_path: Path, ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """An installation whose service holds its batches back."""
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BATCH", "1")
    monkeypatch.setattr(batch_round, "AGAIN_SECONDS", 0.2)
    ai.answer(lambda call: f"You said {call.prompt}")
    ai.batches.held = True
    made = Live(database_url, tmp_path, **QUICK)
    yield made
    made.store.close()


def speak(kind: str, ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_KIND", kind)
    if kind == "anthropic":
        monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BASE_URL", ai.url)


def running(live: Live) -> bool:
    return [one.state for one in live.client.batches()] == ["running"]


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_batch_that_the_service_lost_waits_until_a_person_gives_it_up(
    live: Live, ai: AIServer, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    speak(kind, ai, monkeypatch)
    task = live.client.submit(live.know(batch(handler=ask)), items=["one", "two"], options={"lane": "batch"}, budget=50)
    with live.working(concurrency=8):
        eventually(lambda: running(live))
        ai.batches.batches.clear()
        eventually(lambda: "404" in (live.client.get(task.id).wait_reason or ""))
        assert "switch the task to live" in (live.client.get(task.id).wait_reason or "")
        assert ai.calls == [], "nothing is asked again without a person: the batch may have been paid for"
        live.client.set_lane(task.id, "live")
        done = live.until(task, "completed")
    assert live.client.result(task.id) == ["You said one", "You said two"]
    assert [call.prompt for call in ai.paid] in (["one", "two"], ["two", "one"])
    assert (done.spending.calls, done.spending.possibly_paid) == (2, 2)
    [lost] = live.client.batches()
    assert lost.state == "done"
    assert "possibly paid" in (lost.reason or "")
    budget = live.client.budget(task.id)
    assert budget.unknown > 0, "what the lost batch may have cost stays in the budget"
    assert budget.reserved == 0


@pytest.mark.one_database
def test_a_cancelled_task_does_not_wait_for_a_batch_that_the_service_lost(live: Live, ai: AIServer) -> None:
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"], options={"lane": "batch"}, budget=50)
    with live.working(concurrency=8):
        eventually(lambda: running(live))
        ai.batches.batches.clear()
        live.client.cancel(task.id)
        eventually(lambda: [one.state for one in live.client.batches()] == ["done"])
    assert live.client.get(task.id).spending.possibly_paid == 1
    assert live.client.budget(task.id).reserved == 0


@pytest.mark.one_database
def test_a_batch_whose_results_are_gone_can_be_given_up_too(live: Live, ai: AIServer) -> None:
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"], options={"lane": "batch"})
    with live.working(concurrency=8):
        eventually(lambda: running(live))
        [there] = ai.batches.batches.values()
        ai.batches.finish(there)
        ai.batches.files.clear()
        eventually(lambda: "404" in (live.client.get(task.id).wait_reason or ""))
        live.client.set_lane(task.id, "live")
        live.until(task, "completed")
    assert live.client.result(task.id) == ["You said one"]


@pytest.mark.one_database
def test_a_task_shows_the_trouble_of_its_batch_until_it_is_over(live: Live, ai: AIServer) -> None:
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"], options={"lane": "batch"})
    with live.working(concurrency=8):
        eventually(lambda: running(live))
        ai.batches.faults.extend([("GET /v1/batches", "401")] * 3)
        eventually(lambda: "Trouble with a batch: fake answered 401" in (live.client.get(task.id).wait_reason or ""))
        eventually(lambda: "Trouble" not in (live.client.get(task.id).wait_reason or ""))
        ai.batches.held = False
        live.until(task, "completed")
    assert ai.batches.paid == {"one": 1}
