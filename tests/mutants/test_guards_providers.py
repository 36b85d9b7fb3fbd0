"""Tests for guards between a handler and a service that no other test covers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.model.money.questions import Question
from fanfold.providers.configuration import Provider
from fanfold.providers.services.service import Request, ServiceTrouble, connect
from tests.ai_protocol import too_many_requests
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch

WAIT_SECONDS = 2.5
"""Longer than the first pause of a rate limit that is not told how long to wait."""


@pytest.fixture
def sqlite_live(sqlite_url: str, tmp_path: Path) -> Iterator[Live]:
    made = Live(sqlite_url, tmp_path / "data")
    yield made
    made.store.close()


async def ask(item: Any) -> str:
    return str((await item.ask(str(item.input))).text)


def test_a_service_that_asks_to_wait_is_left_alone_for_that_long_by_everybody(
    sqlite_live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_CONCURRENCY", "1")
    ai.next(too_many_requests(WAIT_SECONDS))
    task = sqlite_live.client.submit(
        sqlite_live.know(batch(handler=ask, retry=ff.Retry(limit=0))), items=["one", "two", "three"]
    )
    with sqlite_live.working(concurrency=8):
        sqlite_live.until(task, "completed")
    refused, *others = ai.calls
    assert len(others) == 3
    waited = min((call.at - refused.at).total_seconds() for call in others)
    assert waited >= WAIT_SECONDS, f"the next call came after {waited:.2f} s"


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_call_goes_out_once_whatever_becomes_of_it(ai: AIServer, kind: str) -> None:
    ai.always("500")

    async def call() -> None:
        service = connect(Provider("fake", kind, ai.openai_url if kind == "openai" else ai.url, timeout=30))
        try:
            with pytest.raises(ServiceTrouble):
                await service.call(Request("fake-large", "hello"))
        finally:
            await service.close()

    asyncio.run(call())
    assert len(ai.calls) == 1


ASKED = Question("prompt", (b"picture",), "system", ("fake:m",), None, {"temperature": 0}, salt="1")
OTHERS: dict[str, dict[str, Any]] = {
    "address": {"address": "http://two"},
    "model": {"model": "n"},
    "system": {"question": replace(ASKED, system="other")},
    "prompt": {"question": replace(ASKED, prompt="other")},
    "images": {"question": replace(ASKED, images=(b"other",))},
    "parameters": {"question": replace(ASKED, parameters={"temperature": 1})},
    "changes": {"changes": {"max_tokens": 32_000}},
    "salt": {"question": replace(ASKED, salt="2")},
}


def key(
    question: Question = ASKED, address: str = "http://one", model: str = "m", changes: dict[str, Any] | None = None
) -> str:
    return question.fingerprint(address, model, changes)


def test_the_same_question_has_the_same_key() -> None:
    assert key() == key(replace(ASKED, check=lambda text: text, keep_raw=True))


@pytest.mark.parametrize("part", OTHERS)
def test_another_question_has_another_key(part: str) -> None:
    assert key() != key(**OTHERS[part])
