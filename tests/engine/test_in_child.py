"""A handler can run part of its work in a child process, or pause its task, without harm."""

import asyncio
import os
from typing import Any

import pytest

import fanfold as ff
from tests.engine import child_functions
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.waiting import eventually


@pytest.mark.one_database
def test_a_function_runs_in_a_child_and_its_value_comes_back(live: Live) -> None:
    async def handler(item: Any) -> Any:
        return await item.in_child(child_functions.where, 1, 2, times=item.input)

    task = live.client.submit(live.know(batch(handler=handler)), items=[1, 2, 3])
    with live.working(children=2):
        live.until(task, "completed", 60)
    found = live.client.result(task.id)
    assert [total for _, total in found] == [3, 6, 9]
    assert os.getpid() not in {pid for pid, _ in found}
    assert len({pid for pid, _ in found}) <= 2, "no more children than allowed"


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("how", "code", "message"),
    [("permanent", "mine", "no use"), ("odd", "RuntimeError", "Odd"), ("unpicklable", "TypeError", "lock")],
)
def test_what_it_raises_is_raised_here(live: Live, how: str, code: str, message: str) -> None:
    async def handler(item: Any) -> Any:
        return await item.in_child(child_functions.fails, how)

    task = live.client.submit(live.know(batch(handler=handler)), items=["a"])
    with live.working():
        live.until(task, "failed", 60)
    [item] = live.client.items(task.id)
    assert item.error_code == code
    assert message in str(item.error_message)


@pytest.mark.one_database
def test_a_child_that_dies_costs_only_its_item(live: Live) -> None:
    async def handler(item: Any) -> Any:
        function = child_functions.fails if item.input == "kill" else child_functions.where
        return await item.in_child(function, item.input if item.input == "kill" else 1)

    task = live.client.submit(live.know(batch(handler=handler)), items=["a", "kill", "b"])
    with live.working(children=1):
        live.until(task, "partial", 90)
    assert live.states(task) == "done failed done"
    item = live.client.items(task.id)[1]
    assert (item.crashes, item.failures, item.error_code) == (3, 0, "poison")


@pytest.mark.one_database
def test_a_handler_may_catch_the_death_of_a_child(live: Live) -> None:
    async def handler(item: Any) -> str:
        try:
            await item.in_child(child_functions.fails, "kill")
        except ff.ChildDied as death:
            return str(death)
        return "alive"

    task = live.client.submit(live.know(batch(handler=handler)), items=["a"])
    with live.working():
        live.until(task, "completed", 60)
    assert "SIGKILL" in live.client.result(task.id)[0]


def test_a_handler_may_pause_its_task(live: Live) -> None:
    ready = asyncio.Event()

    async def handler(item: Any) -> str:
        if not ready.is_set():
            raise ff.PauseTask("the account is empty")
        return "done"

    task = live.client.submit(live.know(batch(handler=handler)), items=["a", "b", "c"])
    with live.working(concurrency=1) as worker:
        paused = live.until(task, "paused")
        assert paused.wait_reason == "paused: the account is empty"
        eventually(lambda: live.states(task) == "pending pending pending")
        [event] = [event for event in live.client.events(task.id) if event.verb == "pause"]
        assert (event.actor, event.reason) == (worker.id, "the account is empty")
        ready.set()
        live.client.resume(task.id)
        live.until(task, "completed")
    assert [item.failures for item in live.client.items(task.id)] == [0, 0, 0]


def test_a_handler_knows_how_many_retries_it_has_left(live: Live) -> None:
    seen = []

    async def handler(item: Any) -> None:
        seen.append(item.retries_left)
        raise ff.Temporary("again", after=0.01)

    task = live.client.submit(live.know(batch(handler=handler, retry=ff.Retry(limit=2))), items=["a"])
    with live.working():
        live.until(task, "failed")
    assert seen == [2, 1, 0]
