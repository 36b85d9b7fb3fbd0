"""Real workers learn the limits of a service that are not configured, use nearly all of them, and rarely exceed them."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from tests.ai_protocol import Call, Reply, refused, slow
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
    """An installation with real workers, on SQLite only."""
    made = Live(sqlite_url, tmp_path / "data")
    yield made
    made.store.close()


async def ask(item: Any) -> str:
    answer = await item.ask(str(item.input))
    return str(answer.text)


def submit(live: Live, count: int, **options: Any) -> ff.Task:
    pipeline = live.know(batch(handler=ask, retry=ff.Retry(limit=0)))
    return live.client.submit(pipeline, items=[f"question {number}" for number in range(count)], options=options)


def test_a_hidden_limit_is_learned_from_headers_and_hardly_ever_exceeded(live: Live, ai: AIServer) -> None:
    """`test_found_rate.py` measures on a manual clock how much of the limit is used, and how little is refused; in real time
    `benchmarks/limits.py` does.
    """
    ai.always(slow(0.1))
    limit = ai.limit = HiddenLimit(300)
    task = submit(live, 60)
    with live.working(concurrency=40), live.working(concurrency=40):
        done = live.until(task, "completed", 120)
    assert (done.done, done.failed) == (60, 0)
    assert limit.refused < 0.25 * limit.allowed, "on a busy machine calls arrive late, and several at a time"
    rows = {row.dimension: row for row in live.client.limits() if row.key == KEY}
    assert (rows["requests"].size, rows["requests"].source) == (300, "learned")


@pytest.mark.parametrize("style", ["429", "throttled"])
def test_a_service_that_only_refuses_is_asked_less_and_nothing_fails(
    sqlite_live: Live, ai: AIServer, style: str
) -> None:
    ai.next(*["answer"] * 5)
    limit = ai.limit = HiddenLimit(600, tells=False, style=style)
    task = submit(sqlite_live, 60)
    with sqlite_live.working(concurrency=20):
        eventually(lambda: limit.refused, 60)
        done = sqlite_live.until(task, "completed", 120)
    assert (done.done, done.failed, done.spending.possibly_paid) == (60, 0, 0)
    rows = {row.dimension: row for row in sqlite_live.client.limits()}
    assert (rows["requests"].source, rows["in_flight"].refusals) == ("adaptive", limit.refused)
    assert limit.refused < 30, "one rate for all, instead of a refusal for each"


def daily(good: Reply) -> Reply:
    """A used-up daily quota, as OpenAI reports it."""
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
