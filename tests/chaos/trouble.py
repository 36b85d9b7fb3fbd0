"""Pipelines of the scenarios: they fill disks, use memory, fail together, leak, poll and flood."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fanfold as ff
from tests.acceptance.work import note

if delay := os.environ.get("FANFOLD_TEST_SLOW_FSYNC"):
    _fsync = os.fsync

    def slow_fsync(fd: Any) -> None:
        """A device that takes its time, for a worker that is told so: below Fanfold, where the disk would be."""
        time.sleep(float(delay or 0))
        _fsync(fd)

    os.fsync = slow_fsync


flood = ff.Pipeline("flood")


@flood.split
def pour(task: ff.TaskWork) -> Iterator[int]:
    """As many items as were asked for."""
    yield from range(task.options["count"])


@flood.each
async def drop(item: ff.ItemWork) -> int:
    """Takes its time, and nothing of the machine's."""
    if seconds := item.options.get("seconds", 0.0):
        await asyncio.sleep(seconds)
    return item.seq


@flood.merge
def pool(task: ff.TaskWork, results: ff.Results) -> dict[str, int]:
    """Counts what it was given."""
    found = [result.output for result in results]
    return {"count": len(found), "different": len(set(found))}


noting = ff.Pipeline("noting")


@noting.each(retry=ff.Retry(0))
def jot(item: ff.ItemWork) -> int:
    """Writes to the database while it runs; a retry more would be one too many."""
    note(item.options, "start", item.key, item.attempt, "-", os.getpid())
    item.remember(seen=item.attempt)
    return item.attempt


bulky = ff.Pipeline("bulky")
PAGE = 20_000
"""Characters of a result that is too large for its row, where the tests say what is large."""


@bulky.split(retry=ff.Retry(0))
def list_pages(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """As many items as were asked for, each with an input of this many characters."""
    note(task.options, "split", "-", task.attempt, "-", os.getpid())
    for number in range(task.options["count"]):
        yield ff.NewItem(key=f"p{number}", input="i" * task.options.get("size", 10))


@bulky.each(retry=ff.Retry(0))
def write_page(item: ff.ItemWork) -> dict[str, Any]:
    """A page of text, after a while."""
    note(item.options, "start", item.key, item.attempt, "-", os.getpid())
    time.sleep(item.options.get("seconds", 0.05))
    return {"key": item.key, "attempt": item.attempt, "text": item.key.ljust(PAGE, ".")}


@bulky.merge(retry=ff.Retry(1, first=0.1))
def bind_pages(task: ff.TaskWork, results: ff.Results) -> dict[str, int]:
    """Counts the pages and their characters."""
    pages = [result.output for result in results]
    return {"count": len({page["key"] for page in pages}), "characters": sum(len(page["text"]) for page in pages)}


greedy = ff.Pipeline("greedy")
MEGABYTE = 1024 * 1024


@greedy.each(isolate=True)
def eat(item: ff.ItemWork) -> int:
    """One of them takes all the memory it can get, in a group of processes that may have little, if it was given one."""
    note(item.options, "start", item.key, item.attempt, "-", os.getpid())
    if item.key != "glutton":
        time.sleep(0.02)
        return os.getpid()
    if item.options["group"]:
        Path(item.options["group"], "cgroup.procs").write_text(str(os.getpid()))
    eaten = []
    while True:
        eaten.append(bytearray(os.urandom(MEGABYTE)))
        if not item.options["group"] and len(eaten) >= GLUT:
            time.sleep(60)


GLUT = 150
"""Megabytes at which a glutton waits to be ended, where the system will not do it."""

bounded = ff.Pipeline("bounded")


@bounded.each(isolate=True, retry=ff.Retry(1, first=0.1))
def eat_within_bounds(item: ff.ItemWork) -> int:
    """Runs into a limit of its own process, which is an error like any other."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (512 * MEGABYTE, resource.RLIM_INFINITY))
    return len(bytearray(1024 * MEGABYTE))


failing = ff.Pipeline("failing")
BACK_OFF = 60.0
"""Seconds. Long enough for thousands of items to fail before the first comes back, also on a busy machine."""


@failing.each(retry=ff.Retry(1, first=BACK_OFF))
async def fail_first(item: ff.ItemWork) -> int:
    """Fails the first time, all together; the second time goes well."""
    if item.attempt == 1:
        raise ConnectionError(f"nobody answers for {item.key}")
    return item.attempt


leaky = ff.Pipeline("leaky")


@leaky.each
async def leak(item: ff.ItemWork) -> int:
    """Leaves behind threads that never end, daemons or not as it is told."""
    for _ in range(item.options["threads"]):
        threading.Thread(target=threading.Event().wait, daemon=item.options["daemon"]).start()
    return threading.active_count()


polling = ff.Pipeline("polling")


@polling.each(wait_limit=86_400)
async def poll(item: ff.ItemWork) -> Any:
    """Looks at an external job again and again."""
    return ff.later(0.0) if item.attempt <= item.options["polls"] else item.attempt


limited = ff.Pipeline("limited")


@limited.each
async def be_refused(item: ff.ItemWork) -> int:
    """Is told to come back later, which does not count, many times."""
    if item.attempt <= item.options["refusals"]:
        raise ff.Temporary("429: too many requests", after=0.0, counts=False)
    return item.attempt
