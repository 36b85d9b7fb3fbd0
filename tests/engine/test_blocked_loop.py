"""An event loop that a handler blocks is noticed and logged, and slows down only its own worker."""

import asyncio
import logging
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.recovery.sweep import HANG_GRACE_SECONDS, recover
from fanfold.engine.worker.attempt.time_limit import LoopBlocked, TimeLimit
from fanfold.engine.worker.beside.watchdog import BlockedTime, Watchdog
from fanfold.store.items.find_work import Ready
from fanfold.store.rows.workers import Report
from tests.engine.live import Live, Switch
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation, number_of
from tests.waiting import eventually


def said(caplog: pytest.LogCaptureFixture, part: str) -> list[str]:
    return [line for record in list(caplog.records) if part in (line := record.getMessage())]


def test_a_blocked_loop_is_told_of_with_task_stage_item_and_line(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    switch = Switch()

    async def handler(_item: Any) -> None:
        switch.wait()

    pipeline = live.know(batch(handler=handler))
    with caplog.at_level(logging.WARNING, "fanfold"), live.working():
        task = live.client.submit(pipeline, items=[ff.NewItem(key="017", input=1)])
        eventually(lambda: said(caplog, "blocked the event loop"))
        switch.free.set()
        live.until(task, "completed")
        eventually(lambda: said(caplog, "The event loop continues after"))
    line = said(caplog, "blocked the event loop")[0]
    assert f"convert 017 of {task.id}" in line
    assert "test_blocked_loop.py:" in line
    assert "in handler (switch.wait())" in line


def test_a_loop_that_only_waits_is_not_told_of(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    async def handler(_item: Any) -> None:
        await asyncio.sleep(2)

    task = live.client.submit(live.know(batch(handler=handler)), items=[1, 2])
    with caplog.at_level(logging.WARNING, "fanfold"), live.working():
        live.until(task, "completed")
    assert said(caplog, f"of {task.id} has blocked the event loop") == []


def test_the_heartbeat_goes_on_while_the_loop_is_blocked(live: Live) -> None:
    switch = Switch()

    async def handler(_item: Any) -> None:
        switch.wait()

    task = live.client.submit(live.know(batch(handler=handler)), items=[1])
    with live.working():
        switch.check()
        seen = live.sql("SELECT seen_at FROM workers")
        eventually(lambda: live.sql("SELECT seen_at FROM workers") != seen)
        seen = live.sql("SELECT seen_at FROM workers")
        eventually(lambda: live.sql("SELECT seen_at FROM workers") != seen)
        switch.free.set()
        live.until(task, "completed")
    [item] = live.client.items(task.id)
    assert (item.attempts, item.crashes) == (1, 0)


def test_what_ends_in_a_thread_is_settled_while_the_loop_is_blocked(live: Live) -> None:
    loop, thread = Switch(), Switch()

    async def block(_item: Any) -> None:
        loop.wait()

    def plain(_item: Any) -> str:
        thread.wait()
        return "done meanwhile"

    slow, quick = batch("slow", handler=block), batch("quick", handler=plain)
    live.know(slow), live.know(quick)
    with live.working(slow, quick):
        other = live.client.submit(quick, items=[1])
        thread.check()
        task = live.client.submit(slow, items=[1])
        loop.check()
        thread.free.set()
        live.until(other, "completed")
        assert not loop.left.is_set()
        loop.free.set()
        live.until(task, "completed")
    assert live.client.result(other.id) == ["done meanwhile"]
    assert [item.attempts for item in live.client.items(other.id)] == [1]


def test_time_in_which_another_blocked_the_loop_does_not_count(live: Live) -> None:
    begun = threading.Event()

    async def innocent(_item: Any) -> str:
        begun.set()
        await asyncio.sleep(1)
        return "in time"

    async def block(_item: Any) -> None:
        time.sleep(8)

    quick, slow = batch("quick", handler=innocent, timeout=5.0), batch("slow", handler=block, timeout=None)
    live.know(slow), live.know(quick)
    with live.working(slow, quick):
        task = live.client.submit(quick, items=[1])
        assert begun.wait(60)
        other = live.client.submit(slow, items=[1])
        live.until(other, "completed", 60)
        live.until(task, "completed", 60)
    assert live.client.result(task.id) == ["in time"]


def test_the_sweep_waits_for_what_a_blocked_loop_keeps_from_running(
    installation: Installation, clock: HandClock
) -> None:
    task = installation.client.submit(installation.know(batch(timeout=5.0)), items=["innocent", "culprit"])
    ready = Ready(number_of(installation, task), "batch", "convert", 0)
    with installation.store.write() as tx:
        tx.workers.register("w", "host", 1, [], 1)
        _, culprit = tx.claiming.claim(ready, "w", 2, timeout=5.0)
    clock.advance(20)
    with installation.store.write() as tx:
        tx.settling.put_off_deadlines("another", 1_000.0)
        tx.settling.put_off_deadlines("w", 30.0, but=culprit.id)
        assert tx.workers.beat("w", Report(1), 1e9)
    clock.advance(HANG_GRACE_SECONDS)
    with installation.store.write() as tx:
        assert tx.workers.beat("w", Report(1), 1e9)
    recover(installation.store, "sweep")
    assert installation.states(task) == "running pending"


def test_an_interruption_strikes_only_the_task_that_blocks_the_loop() -> None:
    async def scene() -> None:
        worker: Any = SimpleNamespace(id="w")
        nobody: Any = []
        watchdog = Watchdog(worker, nobody, "w", None)
        own = asyncio.current_task()
        other = asyncio.ensure_future(asyncio.sleep(0))
        for block in (
            None,
            BlockedTime(0.0, own, None),
            BlockedTime(0.0, other, None, interrupted=True),
            BlockedTime(0.0, None, None),
        ):
            watchdog._block = block
            watchdog._raise_if_blocked(0, None)
        watchdog._block = BlockedTime(0.0, own, None, interrupted=True)
        with pytest.raises(LoopBlocked):
            watchdog._raise_if_blocked(0, None)
        await other

    asyncio.run(scene())


def test_a_time_limit_counts_from_the_call_and_not_while_it_is_held() -> None:
    limit = TimeLimit(10.0)
    now = time.monotonic()
    assert limit.due(now) == now + 10
    limit.begin()
    first = limit.due(time.monotonic()) or 0.0
    limit.forgive(5.0)
    assert abs((limit.due(time.monotonic()) or 0.0) - first - 5) < 1e-6
    limit.hold()
    limit.hold()
    limit.go_on()
    later = time.monotonic() + 100
    assert abs((limit.due(later) or 0.0) - first - 5 - 100) < 1
    limit.go_on()
    assert (limit.due(later) or 0.0) < later
    limit.end()
    assert limit.due(later) is None
    assert not limit.is_over
