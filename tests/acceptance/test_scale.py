"""A command costs the same on a huge task as on a small one, and so does the worker's memory use."""

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil

from fanfold.engine.queries.results.task_result import Results
from tests.acceptance.fleet import Fleet, fleet, patiently
from tests.acceptance.work import quick, wide

LARGE = 20_000
HUGE = 60_000
SOME = 3_000
MEGABYTE = 1024 * 1024


def seconds(act: Callable[[], object]) -> float:
    """How long it takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def test_pausing_a_huge_task_costs_what_pausing_a_small_one_does(database_url: str, tmp_path: Path) -> None:
    with fleet(database_url, tmp_path) as ours:
        client = ours.client
        small = client.submit(quick, items=range(10)).id
        creating = seconds(lambda: client.submit(quick, items=range(LARGE), key="huge"))
        huge = client.list(limit=1)[0].id
        times: dict[str, list[float]] = {small: [], huge: []}
        numbers = {task: ours.number(task) for task in times}
        for _ in range(15):
            for task, taken in times.items():
                taken.append(seconds(partial(client.commands.pause, numbers[task])))
                taken.append(seconds(partial(client.commands.resume, numbers[task])))
        medians = {task: statistics.median(taken) for task, taken in times.items()}
        ratio = medians[huge] / medians[small]
        print(f"{LARGE} items created in {creating:.1f} s; pause {medians[huge] * 1000:.1f} ms, ratio {ratio:.2f}")
        assert ratio < 5


def test_the_memory_of_a_worker_does_not_grow_with_its_task(database_url: str, tmp_path: Path) -> None:
    with fleet(database_url, tmp_path, FANFOLD_SQLITE_SYNCHRONOUS="NORMAL") as ours:
        worker = ours.worker("wide", 64)
        ours.until(ours.client.submit(wide, options={"count": 200}).id)
        process = psutil.Process(worker.pid)
        before = process.memory_info().rss
        started = time.monotonic()
        task = ours.client.submit(wide, options={"count": HUGE}).id
        number, most = ours.number(task), before

        def some_done() -> bool:
            nonlocal most
            most = max(most, process.memory_info().rss)
            with ours.store.read() as tx:
                rows = tx.reading.results(number, "read", SOME - 1, 1)
            return bool(rows) and rows[0].state == "done"

        patiently(some_done, 120)
        ours.client.pause(task)
        grown = (most - before) / MEGABYTE
        streamed, own = stream(ours, task)
        print(
            f"{HUGE} items split and {SOME} done in {time.monotonic() - started:.1f} s, "
            f"the worker grew by {grown:.0f} MB; streaming {streamed} took {own:.0f} MB"
        )
        assert streamed == HUGE
        assert grown < 60
        assert own < 60


def stream(ours: Fleet, task: str) -> tuple[int, float]:
    """Read all results of a task one after the other; how many, and how much memory it took here."""
    process = psutil.Process()
    before = most = process.memory_info().rss
    count = 0
    for result in Results(ours.store, ours.number(task), "read").all():
        count += 1
        assert result.key
        if count % 5_000 == 0:
            most = max(most, process.memory_info().rss)
    return count, (most - before) / MEGABYTE
