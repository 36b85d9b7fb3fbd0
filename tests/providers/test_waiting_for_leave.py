"""Waiting for a limit before a question is sent costs an item nothing.

It uses no time of the item's limit and no retry, and makes no call if the item is stopped.
"""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.handlers.stop import NoClock
from fanfold.engine.tasks.recovery import sweep
from fanfold.engine.worker.attempt.time_limit import HELD_LOOK_SECONDS, TimeLimit
from fanfold.model.money.questions import Answer
from fanfold.providers.flights import Flight, Flights
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.providers.asking_in_child import LIMIT_SECONDS, isolated
from tests.waiting import eventually

GRACE_SECONDS = 2.0


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers."""
    made = Live(database_url, tmp_path)
    yield made
    made.store.close()


async def ask(item: Any) -> str:
    return str((await item.ask(str(item.input))).text)


LIMITED = batch("limited", handler=ask, timeout=LIMIT_SECONDS, retry=ff.Retry(limit=0))


def occupy(live: Live, ai: AIServer) -> ff.Task:
    """Start a task whose call uses the only slot until the service is told to answer."""
    ai.next("held")
    first = live.client.submit(live.know(batch("first", handler=ask)), items=["first"])
    eventually(lambda: ai.waiting == 1)
    return first


def is_asking(live: Live, task: ff.Task) -> bool:
    return live.client.items(task.id)[0].state == "running"


@pytest.mark.parametrize(
    ("pipeline", "limit"),
    [(LIMITED, "CONCURRENCY"), (LIMITED, "IN_FLIGHT"), (isolated, "IN_FLIGHT")],
    ids=["concurrency", "shared limit", "shared limit in a child"],
)
def test_waiting_for_leave_does_not_count_against_the_time_limit(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch, pipeline: ff.Pipeline, limit: str
) -> None:
    monkeypatch.setenv(f"FANFOLD_PROVIDERS_FAKE_{limit}", "1")
    monkeypatch.setattr(sweep, "HANG_GRACE_SECONDS", GRACE_SECONDS)
    live.know(pipeline)
    live.know(batch("first", handler=ask))
    with live.working():
        first = occupy(live, ai)
        waiting = live.client.submit(pipeline, items=["second"])
        eventually(lambda: is_asking(live, waiting))
        since = time.monotonic()
        eventually(lambda: time.monotonic() > since + LIMIT_SECONDS + GRACE_SECONDS + 2)
        assert is_asking(live, waiting), "neither the worker nor the sweep ends it"
        ai.release()
        live.until(waiting, "completed")
        live.until(first, "completed")
    [item] = live.client.items(waiting.id)
    assert (item.attempts, item.failures, item.crashes) == (1, 0, 0)


def test_the_call_itself_counts_against_the_time_limit(live: Live, ai: AIServer) -> None:
    ai.always("hang")
    pipeline = live.know(batch(handler=ask, timeout=1.0, retry=ff.Retry(limit=0)))
    task = live.client.submit(pipeline, items=["one"])
    with live.working():
        live.until(task, "failed")
        assert live.client.items(task.id)[0].error_code == "timeout"
        ai.close()


@pytest.mark.parametrize("limit", ["CONCURRENCY", "IN_FLIGHT"])
def test_a_task_that_is_paused_while_it_waits_for_leave_asks_nothing(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setenv(f"FANFOLD_PROVIDERS_FAKE_{limit}", "1")
    pipeline = live.know(batch("second", handler=ask))
    live.know(batch("first", handler=ask))
    with live.working():
        first = occupy(live, ai)
        waiting = live.client.submit(pipeline, items=["second", "third"])
        eventually(lambda: is_asking(live, waiting))
        live.client.pause(waiting.id)
        live.item_is(waiting, "pending")
        ai.release()
        live.until(first, "completed")
        third = live.client.submit(pipeline, items=["fourth"])
        live.until(third, "completed")
        assert [call.prompt for call in ai.calls] == ["first", "fourth"]


class Recorded(NoClock):
    """A clock that only counts how often it is held."""

    def __init__(self) -> None:
        self.holds = 0

    def hold(self) -> None:
        """Count one more hold."""
        self.holds += 1

    def go_on(self) -> None:
        """Count one hold less."""
        self.holds -= 1


def test_all_attempts_that_wait_for_one_answer_are_held_until_it_is_sent() -> None:
    async def scene() -> None:
        leave, answered, first, second = asyncio.Event(), asyncio.Event(), Recorded(), Recorded()

        async def fetch(flight: Flight) -> Answer:
            await leave.wait()
            with flight.sending():
                await answered.wait()
            return Answer("found", "fake", "large")

        flights = Flights()
        flight, is_new = flights.join("key", fetch)
        assert is_new
        one = asyncio.create_task(flight.answer(first))
        assert flights.join("key", fetch) == (flight, False)
        other = asyncio.create_task(flight.answer(second))
        await asyncio.sleep(0)
        assert (first.holds, second.holds) == (1, 1)
        leave.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert (first.holds, second.holds) == (0, 0)
        answered.set()
        assert [found.text for found in await asyncio.gather(one, other)] == ["found", "found"]
        assert (first.holds, second.holds) == (0, 0)

    asyncio.run(scene())


def test_a_question_that_was_given_up_while_it_waited_is_asked_anew_for_the_next() -> None:
    async def scene() -> None:
        begun = 0

        async def fetch(flight: Flight) -> Answer:
            nonlocal begun
            begun += 1
            await asyncio.Event().wait()
            raise AssertionError

        flights, clock = Flights(), Recorded()
        flight, _ = flights.join("key", fetch)
        waiting = asyncio.create_task(flight.answer(clock))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert clock.holds == 0
        later, is_new = flights.join("key", fetch)
        assert is_new
        assert later is not flight
        await asyncio.sleep(0)
        assert flight.landed.cancelled()
        assert begun == 2
        assert flights.join("key", fetch) == (later, False), "the end of the first does not remove the second"
        later.landed.cancel()

    asyncio.run(scene())


def test_a_held_attempt_is_in_time_and_its_deadline_in_the_database_is_moved_once() -> None:
    limit = TimeLimit(0.001)
    claimed_at = time.monotonic()
    limit.begin()
    limit.hold()
    later = claimed_at + 10
    assert limit.due(later) == later + HELD_LOOK_SECONDS, "not at once again, though nearly nothing is left"
    assert limit.extend(claimed_at, later, 60.0)
    assert not limit.extend(claimed_at, later + 59, 60.0)
    assert limit.extend(claimed_at, later + 61, 60.0)
