"""Real workers and a service with limits that nobody configured: learned, nearly used up, and hardly ever exceeded."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from tests.ai_protocol import Call, Reply, refused, slow, too_many_requests
from tests.ai_server import AIServer, HiddenLimit
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.waiting import eventually

KEY = "fake:fake-large"


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers."""
    made = Live(database_url, tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def sqlite_live(sqlite_url: str, tmp_path: Path) -> Iterator[Live]:
    """The same on SQLite alone."""
    made = Live(sqlite_url, tmp_path / "data")
    yield made
    made.store.close()


async def ask(item: Any) -> str:
    answer = await item.ask(str(item.input))
    return str(answer.text)


def submit(live: Live, count: int, **options: Any) -> ff.Task:
    pipeline = live.know(batch(handler=ask, retry=ff.Retry(limit=0)))
    return live.client.submit(pipeline, items=[f"question {number}" for number in range(count)], options=options)


def test_a_hidden_limit_is_learned_from_headers_used_nearly_fully_and_hardly_ever_exceeded(
    live: Live, ai: AIServer
) -> None:
    ai.always(slow(0.1))
    limit = ai.limit = HiddenLimit(300)
    task = submit(live, 80)
    with live.working(concurrency=40), live.working(concurrency=40):
        done = live.until(task, "completed", 120)
    took = ai.calls[-1].at.timestamp() - ai.calls[0].at.timestamp()
    assert (done.done, done.failed) == (80, 0)
    assert limit.refused < 0.02 * limit.allowed
    assert limit.allowed >= 0.9 * 300 / 60 * took, f"{limit.allowed} in {took:.1f} s"
    rows = {row.dimension: row for row in live.client.limits() if row.key == KEY}
    assert (rows["requests"].size, rows["requests"].source) == (300, "learned")


@pytest.mark.parametrize("style", ["429", "throttled"])
def test_a_service_that_only_refuses_is_asked_less_and_nothing_fails(
    sqlite_live: Live, ai: AIServer, style: str
) -> None:
    ai.always(slow(0.05))
    limit = ai.limit = HiddenLimit(600, tells=False, style=style)
    task = submit(sqlite_live, 40)
    with sqlite_live.working(concurrency=20):
        done = sqlite_live.until(task, "completed", 120)
    assert (done.done, done.failed, done.spending.possibly_paid) == (40, 0, 0)
    [row] = [row for row in sqlite_live.client.limits() if row.dimension == "in_flight"]
    assert (row.source, row.refusals) == ("adaptive", limit.refused)
    assert row.level <= 8


def test_a_refusal_closes_the_model_for_all_workers(live: Live, ai: AIServer) -> None:
    """Two workers, each with its own connections and its own limits: what they share is the database."""
    ai.always(slow(0.2))
    task = submit(live, 60)
    with live.working(concurrency=8), live.working(concurrency=8):
        eventually(lambda: len(ai.paid) >= 4, 60)
        ai.next(too_many_requests(4))
        eventually(lambda: ai.given["429"], 60)
        refused_at = next(call.at for call in ai.calls if call.given == "429")
        live.until(task, "completed", 120)
    assert [row.refusals for row in live.client.limits() if row.dimension == "in_flight"] == [1]
    ago = sorted((call.at - refused_at).total_seconds() for call in ai.calls)
    assert not [seconds for seconds in ago if 2.0 < seconds < 3.8], "both hold back"
    opened = next(seconds for seconds in ago if seconds >= 3.8)
    at_once = sum(opened <= seconds < opened + 0.2 for seconds in ago)
    assert at_once <= 8, "and come back a few at a time, not all sixteen"


def daily(good: Reply) -> Reply:
    """A quota of the day that is used up, as OpenAI says it."""
    return refused("daily", 429, "Rate limit reached for requests per day (RPD): Limit 200", "rate_limit_exceeded")(
        good
    )


def test_a_used_up_day_goes_to_the_next_model(sqlite_live: Live, ai: AIServer) -> None:
    def answer(call: Call) -> Reply:
        return daily(Reply()) if call.model == "fake-large" else Reply(text=f"from {call.model}")

    ai.answer(answer)
    task = submit(sqlite_live, 6, fallback=["fake:fake-small"])
    with sqlite_live.working(concurrency=1):
        sqlite_live.until(task, "completed", 60)
    assert set(sqlite_live.client.result(task.id)) == {"from fake-small"}
    assert [call.model for call in ai.calls].count("fake-large") == 1, "the others know it from the first"


def test_a_used_up_day_without_another_model_waits_and_says_until_when(live: Live, ai: AIServer) -> None:
    ai.always(daily)
    task = submit(live, 3)
    with live.working(concurrency=1):
        eventually(lambda: "next try at" in (live.client.get(task.id).wait_reason or ""), 60)
    now = live.client.get(task.id)
    assert (now.state, now.failed) == ("active", 0)
    assert str(now.wait_reason).startswith("the daily quota of fake is used up, next try at ")
    [row] = [row for row in live.client.limits() if row.dimension == "requests_day"]
    assert (row.closed_by, row.closed_until is not None) == ("quota", True)


def test_configured_requests_per_day_are_kept_by_all_workers(
    sqlite_live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_REQUESTS_PER_DAY", "3")
    task = submit(sqlite_live, 6)
    with sqlite_live.working(concurrency=2), sqlite_live.working(concurrency=2):
        eventually(lambda: "daily quota" in (sqlite_live.client.get(task.id).wait_reason or ""), 60)
    assert len(ai.calls) == 3


def test_a_model_that_a_person_closed_is_not_asked_and_the_task_says_so(sqlite_live: Live, ai: AIServer) -> None:
    first = submit(sqlite_live, 1)
    with sqlite_live.working():
        sqlite_live.until(first, "completed", 60)
        eventually(lambda: not any(row.in_flight for row in sqlite_live.client.limits()), 60)
        sqlite_live.client.close_limit(KEY, 3_600)
        second = sqlite_live.client.submit(sqlite_live.pipelines[-1], items=["another"])
        eventually(lambda: "rate limited by fake" in (sqlite_live.client.get(second.id).wait_reason or ""), 60)
    assert len(ai.calls) == 1
    assert sqlite_live.client.get(second.id).state == "active", "nobody has to resume it"


def test_limits_of_a_model_are_configured_and_kept(
    sqlite_live: Live, ai: AIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fanfold.toml").write_text(
        '[providers.fake.models."fake-large"]\nin_flight = 2\nrequests_per_minute = 6000\n'
    )
    monkeypatch.chdir(tmp_path)
    ai.always(slow(0.1))
    task = submit(sqlite_live, 12)
    begun = time.monotonic()
    with sqlite_live.working(concurrency=8), sqlite_live.working(concurrency=8):
        sqlite_live.until(task, "completed", 60)
    assert ai.busiest <= 2, f"two workers together, in {time.monotonic() - begun:.1f} s"
    rows = {row.dimension: row for row in sqlite_live.client.limits()}
    assert {name: (row.size, row.source) for name, row in rows.items()} == {
        "in_flight": (2, "configured"),
        "requests": (6_000, "configured"),
    }


def test_the_models_of_a_provider_share_its_places(
    sqlite_live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_CONCURRENCY", "2")
    ai.always(slow(0.05))
    tasks = [submit(sqlite_live, 8, model=model) for model in ("fake-large", "fake-small")]
    with sqlite_live.working(concurrency=16):
        for task in tasks:
            sqlite_live.until(task, "completed", 60)
    assert ai.busiest == 2
