"""A thread that a handler has started with `asyncio.to_thread` does not keep a worker or a tick beyond its time."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from fanfold.engine.tasks.recovery.tick import tick
from tests.engine.live import Live
from tests.engine.pipelines import one_step


def test_a_tick_does_not_wait_for_a_thread_of_a_handler(live: Live) -> None:
    over = threading.Event()

    async def handler(task: Any) -> None:
        await asyncio.to_thread(over.wait, 150)

    task = live.client.submit(live.know(one_step(handler, "slow")))
    try:
        report = tick(live.store, live.pipelines, seconds=2)
    finally:
        over.set()
    assert report.seconds < 60
    assert (report.finished, report.handed_back) == (0, 1)
    assert live.client.get(task.id).state == "active"
