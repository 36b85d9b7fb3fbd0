"""A worker that is frozen while it sends a batch, and goes on after another one has taken over, costs nothing twice.

The clock is turned by hand: frozen is a worker that waits at a point while the others work and a minute passes.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fanfold.model.money.batch import BatchState
from fanfold.providers.batches.anthropic_batches import AnthropicBatches
from fanfold.providers.batches.batch_round import FIND_SECONDS, BatchRound
from fanfold.providers.batches.openai_batches import OpenAIBatches
from tests.ai_server import AIServer
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation, set_clock

QUESTIONS = ["one", "two", "three"]


@pytest.fixture
def clock() -> HandClock:
    return set_clock()


@pytest.fixture
def installation(database_url: str, tmp_path: Path, clock: HandClock) -> Iterator[Installation]:
    made = Installation(database_url, tmp_path / "data", clock, batch_trial=0, batch_quiet_seconds=0.0)
    yield made
    made.store.close()


class Freezer:
    """Stops the worker `frozen` at one point of its work until it may go on."""

    def __init__(self) -> None:
        self.is_at_point = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def wait(self) -> None:
        if not self.is_at_point.is_set():
            self.is_at_point.set()
            await self.goes_on.wait()


def before_create(monkeypatch: pytest.MonkeyPatch, freezer: Freezer) -> None:
    """Frozen before anything of the batch is sent."""
    for kind in (OpenAIBatches, AnthropicBatches):

        async def create(here: Any, *given: Any, original: Any = kind.create) -> str:
            await freezer.wait()
            return str(await original(here, *given))

        monkeypatch.setattr(kind, "create", create)


def before_last_request(monkeypatch: pytest.MonkeyPatch, freezer: Freezer) -> None:
    """Frozen right before the request that creates the batch, when everything was checked."""
    for kind in (OpenAIBatches, AnthropicBatches):

        def made(here: Any, service: Any, original: Any = kind.__init__) -> None:
            original(here, service)
            owner: Any = here.client.messages.batches if isinstance(here, AnthropicBatches) else here.client.batches
            send = owner.create

            async def create(**named: Any) -> Any:
                await freezer.wait()
                return await send(**named)

            owner.create = create

        monkeypatch.setattr(kind, "__init__", made)


@pytest.mark.parametrize("freeze", [before_create, before_last_request])
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_worker_frozen_between_intent_and_create_costs_nothing_twice(
    installation: Installation,
    ai: AIServer,
    clock: HandClock,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    freeze: Callable[[pytest.MonkeyPatch, Freezer], None],
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BATCH", "1")
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_KIND", kind)
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BASE_URL", ai.url if kind == "anthropic" else f"{ai.url}/v1")
    ai.answer(lambda call: f"You said {call.prompt}")
    ai.batches.held = True

    async def ask(item: Any) -> str:
        return str((await item.ask(str(item.input))).text)

    pipeline = installation.know(batch(handler=ask))
    task = installation.client.submit(pipeline, items=QUESTIONS, options={"lane": "batch"})
    installation.work()

    async def meanwhile() -> None:
        freezer = Freezer()
        freeze(monkeypatch, freezer)
        frozen = asyncio.create_task(BatchRound(installation.store, "frozen").run())
        await asyncio.wait_for(freezer.is_at_point.wait(), 60)
        for _ in range(4):
            clock.advance(FIND_SECONDS / 2)
            await BatchRound(installation.store, "other").run()
        [found] = installation.client.batches()
        assert found.state == BatchState.RUNNING
        freezer.goes_on.set()
        await frozen

    asyncio.run(meanwhile())
    assert len(ai.batches.batches) == 1 or freeze is before_last_request, "nothing was created a second time"
    ai.batches.held = False
    for sent in [one for one in ai.batches.batches.values() if one.status == "in_progress"]:
        ai.batches.finish(sent)
    for _ in range(4):
        clock.advance(3_600)
        asyncio.run(BatchRound(installation.store, "other").run())
    installation.work()
    assert installation.client.result(task.id) == [f"You said {question}" for question in QUESTIONS]
    assert ai.batches.paid == dict.fromkeys(QUESTIONS, 1), "at the service, each question was answered once"
    assert installation.client.get(task.id).spending.calls == len(QUESTIONS)
