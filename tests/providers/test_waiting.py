"""Waiting for a service is visible, costs few requests, ends by itself, and after ten minutes asks for a person."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from tests.ai_protocol import too_many_requests
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation, set_clock
from tests.waiting import eventually


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers."""
    made = Live(database_url, tmp_path)
    yield made
    made.store.close()


def said(live: Live, task: ff.Task) -> str:
    return live.client.get(task.id).wait_reason or ""


async def ask(item: Any) -> str:
    answer = await item.ask(str(item.input))
    return str(answer.text)


def test_a_service_that_keeps_refusing_gets_few_requests_and_the_task_says_so(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanfold.providers.rate_limit.PATIENCE", 0.05)
    monkeypatch.setattr("fanfold.providers.question_asker.PATIENCE", 0.05)
    monkeypatch.setattr("fanfold.providers.rate_limit.LONGEST_PAUSE", 1.0)
    monkeypatch.setattr("fanfold.providers.asking.SPREAD_SECONDS", 0.05)
    ai.always(too_many_requests(0.01))
    task = live.client.submit(live.know(batch(handler=ask)), items=["one", "two", "three", "four", "five"])
    with live.working(concurrency=8):
        eventually(lambda: said(live, task).startswith("rate limited by fake, "), 60)
        eventually(lambda: len(ai.calls) >= 8, 60)
        asked = [call.number for call in ai.calls]
        ai.always("answer")
        done = live.until(task, "completed", 90)
    assert len(asked) < 30, "one call tries for all of them, less and less often"
    assert (done.failed, len(ai.paid)) == (0, 5), "it resumes by itself, and no retry was used up"
    assert done.wait_reason is None


def test_a_service_that_is_not_there_is_named_and_found_again(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanfold.providers.asking.SPREAD_SECONDS", 0.05)
    monkeypatch.setattr("fanfold.providers.rate_limit.LONGEST_ABSENCE", 0.5)
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BASE_URL", "http://127.0.0.1:9/v1")
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"])
    with live.working():
        eventually(lambda: said(live, task).startswith("fake unreachable since "), 60)
    assert live.client.get(task.id).state == "active", "nobody has to resume it"
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BASE_URL", ai.openai_url)
    with live.working():
        live.until(task, "completed", 60)


class Troubled:
    """A task whose items wait for a service, with a manual clock."""

    def __init__(self, installation: Installation, clock: HandClock) -> None:
        self.installation = installation
        self.clock = clock
        self.good = False
        pipeline = batch(handler=self.convert, retry=ff.Retry(limit=0))
        self.task = installation.client.submit(installation.know(pipeline), items=["a", "b"])

    def convert(self, item: Any) -> str:
        if not self.good:
            raise ff.Temporary("fake said 429.", after=30, code="rate_limited", counts=False, by="fake")
        return "good"

    def wait(self, minutes: float) -> ff.Task:
        """Advance the clock, and work whenever a retry is due."""
        end = self.clock.now + timedelta(minutes=minutes)
        while self.clock.now < end:
            self.installation.work()
            self.clock.advance(31)
        self.installation.work()
        return self.installation.client.get(self.task.id)


@pytest.fixture
def troubled(database_url: str, tmp_path: Path) -> Iterator[Troubled]:
    """A task that waits for its service."""
    clock = HandClock()
    made = Installation(database_url, tmp_path / "data", clock)
    yield Troubled(made, clock)
    made.store.close()


def test_the_reason_names_the_service_and_the_next_try(troubled: Troubled) -> None:
    troubled.installation.work()
    assert troubled.installation.client.get(troubled.task.id).wait_reason == "rate limited by fake, next try in 30 s"
    troubled.clock.advance(12)
    assert troubled.installation.client.get(troubled.task.id).wait_reason == "rate limited by fake, next try in 18 s"


def test_after_ten_minutes_a_person_is_called_and_it_still_goes_on_by_itself(troubled: Troubled) -> None:
    client = troubled.installation.client
    assert troubled.wait(5).needs_you is None
    assert client.list(needs_you=True) == []
    later = troubled.wait(6)
    assert later.state == "active"
    assert later.needs_you == "rate limited by fake since 00:00 UTC; it resumes by itself as soon as fake answers"
    assert [task.id for task in client.list(needs_you=True)] == [troubled.task.id]
    troubled.good = True
    done = troubled.wait(1)
    assert (done.state, done.needs_you, client.list(needs_you=True)) == ("completed", None, [])


def test_a_counted_failure_or_a_retry_by_a_person_begins_a_new_time(troubled: Troubled) -> None:
    assert troubled.wait(11).needs_you
    troubled.installation.client.retry(troubled.task.id, ["1", "2"])
    assert troubled.wait(5).needs_you is None


def test_while_others_move_nothing_is_said_and_when_all_that_runs_waits_it_is(
    installation: Installation, clock: HandClock
) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b", "c"])
    worker = installation.worker()
    stage = installation.pipelines[-1].find("convert")
    assert stage is not None
    from fanfold.engine.worker.attempt.attempt_result import failed

    error = ff.Temporary("fake said 429.", after=30, code="rate_limited", counts=False, by="fake")
    first, second, third = worker.claim()
    worker.settle(failed(first, stage, error))
    assert installation.client.get(task.id).wait_reason is None, "two others are at work"
    worker.settle(failed(second, stage, error), failed(third, stage, error))
    clock.advance(31)
    [probe] = worker.claim(1)
    assert installation.client.get(task.id).wait_reason == "rate limited by fake, trying now"
    worker.finish(probe)
    assert installation.client.get(task.id).done == 1


@pytest.fixture
def clock() -> HandClock:
    """A manual clock."""
    return set_clock()


@pytest.fixture
def installation(database_url: str, tmp_path: Path, clock: HandClock) -> Iterator[Installation]:
    """An installation with that clock."""
    made = Installation(database_url, tmp_path / "other", clock)
    yield made
    made.store.close()


def test_what_waits_for_a_person_is_found(installation: Installation) -> None:
    client = installation.client
    made = batch(handler=lambda item: 1 / 0 if item.input == "bad" else 1, retry=ff.Retry(limit=0))
    pipeline = installation.know(made)
    partial, paused = client.submit(pipeline, items=["a", "bad"]), client.submit(pipeline, items=["a"])
    client.pause(paused.id, "lunch")
    active = client.submit(pipeline, items=["a"])
    assert {task.id for task in client.list(needs_you=True)} == {paused.id}
    installation.work()
    said = {task.id: task.needs_you for task in client.list(needs_you=True)}
    assert said == {paused.id: "paused: lunch", partial.id: "1 failed: retry it"}
    assert client.get(active.id).needs_you is None
