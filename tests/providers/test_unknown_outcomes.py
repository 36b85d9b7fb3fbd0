"""A call whose answer was lost may be charged: it is counted and shown, and repeated with its idempotency key if any."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.providers.configuration import Provider
from fanfold.providers.services.service import TroubleKind, time_out
from tests.ai_protocol import refused, too_many_requests
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch

LOST = ("reset", "502-paid", "504-paid")


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers."""
    made = Live(database_url, tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def sqlite_live(sqlite_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers, on SQLite only."""
    made = Live(sqlite_url, tmp_path / "data")
    yield made
    made.store.close()


async def ask(item: Any) -> str:
    answer = await item.ask(str(item.input))
    return str(answer.text)


def asked(live: Live, limit: int = 1) -> ff.Task:
    """Run a task with one item to its end."""
    pipeline = batch(handler=ask, retry=ff.Retry(limit=limit, first=0.01))
    task = live.client.submit(live.know(pipeline), items=["one"])
    with live.working():
        return live.until(task, "completed", 60)


@pytest.mark.parametrize("fault", LOST)
def test_a_lost_answer_counts_as_possibly_paid_and_is_shown(sqlite_live: Live, ai: AIServer, fault: str) -> None:
    ai.next(fault)
    task = asked(sqlite_live)
    assert [call.outcome for call in sqlite_live.client.calls(task.id)] == ["no answer", "taken"]
    assert (task.spending.calls, task.spending.possibly_paid, len(ai.paid)) == (1, 1, 2)
    assert sqlite_live.client.items(task.id)[0].failures == 1, "it is counted, so that it does not continue forever"


@pytest.mark.parametrize("fault", LOST)
def test_with_an_idempotency_key_a_lost_answer_is_asked_for_again_and_paid_once(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_IDEMPOTENCY_HEADER", "Idempotency-Key")
    ai.next(fault, fault)
    task = asked(live, limit=2)
    keys = [call.idempotency_key for call in ai.calls]
    assert (len(keys), len(set(keys)), keys[0] is not None) == (3, 1, True)
    assert len(ai.paid) == 1
    assert (task.spending.calls, task.spending.possibly_paid) == (1, 0), "what was lost is the same as what came"


def test_a_question_that_a_person_asks_again_has_another_key(
    sqlite_live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_IDEMPOTENCY_HEADER", "Idempotency-Key")
    task = asked(sqlite_live)
    sqlite_live.client.retry(task.id, ["1"])
    with sqlite_live.working():
        sqlite_live.until(task, "completed", 60)
    assert len({call.idempotency_key for call in ai.calls}) == len(ai.paid) == 2


@pytest.mark.parametrize(
    "fault", [too_many_requests(0.05), refused("503", 503, "Overloaded"), refused("529", 529, "Overloaded")]
)
def test_a_refusal_is_safe_to_repeat_and_costs_nothing(sqlite_live: Live, ai: AIServer, fault: Any) -> None:
    ai.next(fault)
    task = asked(sqlite_live)
    assert (task.spending.calls, task.spending.possibly_paid, len(ai.paid)) == (1, 0, 1)


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_no_library_repeats_a_call_by_itself(
    sqlite_live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_KIND", protocol)
    if protocol == "anthropic":
        monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BASE_URL", ai.url)
    ai.next("reset", "500")
    asked(sqlite_live, limit=2)
    assert len(ai.calls) == 3, "one for each attempt"


class ConnectTimeout(Exception):
    """An error with the name that the HTTP library uses."""


class ReadTimeout(Exception):
    """An error with the name that the HTTP library uses."""


@pytest.mark.parametrize(
    ("cause", "kind", "unknown"),
    [(ConnectTimeout(), TroubleKind.UNREACHABLE, False), (ReadTimeout(), TroubleKind.LATE, True)],
)
def test_a_time_out_before_anything_was_sent_is_safe(cause: Exception, kind: TroubleKind, unknown: bool) -> None:
    error = Exception("timed out")
    error.__cause__ = cause
    trouble = time_out(error, Provider("fake"))
    assert (trouble.kind, trouble.unknown) == (kind, unknown)
