"""A thread that a handler has started with `asyncio.to_thread` does not keep a worker or a tick beyond its time."""

from __future__ import annotations

import asyncio
import threading
from typing import Any
from unittest.mock import patch
from weakref import WeakSet

from fanfold.engine.tasks.recovery.tick import tick
from fanfold.engine.worker.attempt import threads
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


def test_the_threads_of_other_workers_in_the_process_are_no_reason_to_warn() -> None:
    """Twelve workers have a hundred threads of their own; a thousand more are still worth a warning."""
    with patch.object(threads.Watch, "_all", WeakSet[threads.Watch]()), patch.object(threads, "threading") as module:
        module.active_count.return_value = 10
        watches = [threads.Watch() for _ in range(12)]
        module.active_count.return_value = 10 + 12 * 9
        assert [one.look("count", 4) for one in watches] == [None] * 12
        module.active_count.return_value = 2_000
        assert "threads more than its work needs" in str(watches[0].look("count", 4))
