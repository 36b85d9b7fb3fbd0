"""Measures the server's processor time and bytes with 1, 50 and 200 watchers of one busy task."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

import fanfold as ff

ITEMS, BATCH = 10_000, 50
ROUND_SECONDS, PAUSE_SECONDS = 10.0, 0.5
WATCHERS = (1, 50, 200)
PATHS = {"API": "/api/v1/tasks/{id}/stream", "page": "/live/tasks/{id}"}
PORT = re.compile(r":(\d+)/")

busy = ff.Pipeline("busy")


@busy.each
def wait(item: ff.ItemWork) -> str:
    """It is settled by hand."""
    return "done"


def main() -> None:
    """Print the table."""
    print(
        f"| stream | watchers | server's processor | bytes per watcher and second | page load time meanwhile |\n{'|---' * 5}|"
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FANFOLD_DATA"] = folder
        for kind, path in PATHS.items():
            for count in WATCHERS:
                measure(kind, path, count)


def measure(kind: str, path: str, count: int) -> None:
    """One round: a fresh server and a fresh task."""
    client = ff.Client()
    task = client.submit(busy, items=range(ITEMS))
    command = [sys.executable, "-m", "fanfold.cli", "serve", "--no-workers", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    found = PORT.search(server.stdout.readline())
    assert found is not None
    try:
        report(kind, count, *asyncio.run(watched(int(found[1]), path.format(id=task.id), task.id, count, server.pid)))
    finally:
        server.terminate()
        server.wait()
        client.cancel(task.id)
        client.close()


async def watched(port: int, path: str, task_id: str, count: int, pid: int) -> tuple[float, float, float]:
    """The share of a core that the server used, the bytes each watcher got per second, and how long its page took."""
    got = [0] * count
    watchers = [asyncio.create_task(watch(port, path, got, at)) for at in range(count)]
    await asyncio.sleep(2)
    got[:] = [0] * count
    process, started = psutil.Process(pid), time.monotonic()
    before = sum(process.cpu_times()[:2])
    working = asyncio.create_task(asyncio.to_thread(work, task_id, started + ROUND_SECONDS))
    await asyncio.sleep(ROUND_SECONDS / 2)
    took = await asyncio.to_thread(page, port, task_id)
    await working
    used, seconds = sum(process.cpu_times()[:2]) - before, time.monotonic() - started
    for watcher in watchers:
        watcher.cancel()
    return used / seconds, sum(got) / count / seconds, took


async def watch(port: int, path: str, got: list[int], at: int) -> None:
    """Read whatever comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    while chunk := await reader.read(65_536):
        got[at] += len(chunk)


def work(task_id: str, until: float) -> None:
    """Settle some items every half second, as a worker does, with the engine's own parts."""
    from fanfold.engine.worker.attempt.attempt_result import Settlement
    from fanfold.engine.worker.claiming.claim import Claimer, Room
    from fanfold.engine.worker.turn import take_turn

    store = ff.Client().store
    claimer = Claimer(store, {busy.name: busy}, ())
    with store.write() as tx:
        tx.workers.register(task_id, "here", os.getpid(), list(claimer.served.pairs), BATCH)
    settled: list[Any] = []
    while time.monotonic() < until:
        turn = take_turn(store, claimer, {busy.name: busy}, task_id, settled, Room(BATCH), in_flight=set(), hinted=True)
        settled = [Settlement(claimed, "finish", output='"done"') for _, claimed in turn.claimed]
        time.sleep(PAUSE_SECONDS)
    with store.write() as tx:
        tx.workers.leave(task_id)
    store.close()


def page(port: int, task_id: str) -> float:
    """Seconds until the page of the task has come."""
    import urllib.request

    started = time.monotonic()
    urllib.request.urlopen(f"http://127.0.0.1:{port}/tasks/{task_id}").read()
    return time.monotonic() - started


def report(kind: str, count: int, share: float, rate: float, took: float) -> None:
    """One row of the table."""
    print(f"| {kind} | {count} | {share:.0%} of a core | {rate:,.0f} | {took * 1000:.0f} ms |", flush=True)


if __name__ == "__main__":
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    main()
