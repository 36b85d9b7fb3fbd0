"""The question that is asked live before a large batch is sent: it is paid for once, by one worker."""

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.providers.batches.batch_service import connect_batches
from fanfold.providers.batches.trial import passes_trial
from fanfold.providers.configuration import load
from tests.ai_protocol import slow
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.providers.test_batches import QUICK, ask

ITEMS = [str(number) for number in range(8)]


@pytest.fixture(autouse=True)
def fake_has_batches(ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BATCH", "1")
    ai.answer(lambda call: f"You said {call.prompt}")


def run(live: Live, workers: int = 1, state: str = "completed", budget: float | None = None, **rules: Any) -> ff.Task:
    pipeline = live.know(batch(handler=ask, **rules))
    task = live.client.submit(pipeline, items=ITEMS, options={"lane": "batch"}, budget=budget)
    with ExitStack() as stack:
        for _ in range(workers):
            stack.enter_context(live.working(concurrency=8))
        return live.until(task, state)


def test_several_workers_try_one_question(sqlite_url: str, tmp_path: Path, ai: AIServer) -> None:
    live = Live(sqlite_url, tmp_path, **{**QUICK, "batch_trial": 5})
    ai.always(slow(1.5))
    task = run(live, workers=3)
    assert len(ai.calls) == 1, "each worker carries batches: only one of them asks"
    assert sum(ai.batches.paid.values()) == 7
    assert task.spending.calls == 8
    live.store.close()


def test_a_bad_answer_shows_that_the_request_is_accepted(sqlite_url: str, tmp_path: Path, ai: AIServer) -> None:
    live = Live(sqlite_url, tmp_path, **{**QUICK, "batch_trial": 5})
    ai.next("length")
    task = run(live)
    assert len(ai.calls) == 1, "one trial is enough, at the full price of a live call"
    assert sum(ai.batches.paid.values()) == 8, "the bad answer is asked for again, with the others"
    assert task.spending.calls == 9
    live.store.close()


def test_a_trial_without_a_reply_is_not_repeated_where_that_may_cost(
    sqlite_url: str, tmp_path: Path, ai: AIServer
) -> None:
    live = Live(sqlite_url, tmp_path, **{**QUICK, "batch_trial": 5})
    ai.always("reset")
    task = run(live, budget=100)
    assert (len(ai.calls), task.spending.possibly_paid) == (1, 1)
    assert sum(ai.batches.paid.values()) == 8
    budget = live.client.budget(task.id)
    assert [budget.spent, budget.reserved] == pytest.approx([8 * 0.5, 0], abs=0.5)
    assert budget.unknown >= 1, "the price of a live call"
    live.store.close()


def test_a_question_that_was_answered_meanwhile_needs_no_trial(sqlite_url: str, tmp_path: Path, ai: AIServer) -> None:
    """Another task asks the same question live while it is collected: the cache has its answer, and the batch is sent."""
    live = Live(sqlite_url, tmp_path, **{**QUICK, "batch_trial": 1, "batch_quiet_seconds": 1e6})
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"], options={"lane": "batch"})
    with live.working():
        live.item_is(task, "waiting")
    with live.store.read() as tx:
        [group] = tx.batched.groups()
        members = tx.batched.waiting(group, 10)
    with live.store.write() as tx:
        tx.answers.keep(members[0].key, '{"text": "known", "provider": "fake", "model": "fake-large", "seconds": 1}')
    provider = load()["fake"]
    assert asyncio.run(passes_trial(live.store, connect_batches(provider), provider, members, "w-1"))
    assert ai.calls == []
    live.store.close()
