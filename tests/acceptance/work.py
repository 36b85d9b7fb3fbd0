"""Pipelines that record every call in a file that survives any crash."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import fanfold as ff


def note(options: dict[str, Any], *words: Any) -> None:
    """Append one line to the task's log in one write, so that lines of several processes never mix."""
    line = " ".join(str(word) for word in words) + "\n"
    descriptor = os.open(options["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


crowd = ff.Pipeline("crowd")


@crowd.split
def cut(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """As many items as were asked for."""
    for number in range(task.options["count"]):
        yield ff.NewItem(key=f"k{number}", input=number)


@crowd.each
async def work(item: ff.ItemWork) -> dict[str, Any]:
    """Records itself before and after its work, and in its output."""
    token = secrets.token_hex(4)
    note(item.options, "start", item.key, item.attempt, token, os.getpid())
    await asyncio.sleep(item.options.get("seconds", 0.0))
    note(item.options, "end", item.key, item.attempt, token, os.getpid())
    return {"key": item.key, "attempt": item.attempt, "token": token, "pid": os.getpid()}


@crowd.merge
def bind(task: ff.TaskWork, results: ff.Results) -> dict[str, Any]:
    """Counts what it was given."""
    note(task.options, "merge", "-", task.attempt, "-", os.getpid())
    keys = [result.output["key"] for result in results]
    return {"count": len(keys), "different": len(set(keys)), "attempt": task.attempt}


reviewed = ff.Pipeline("reviewed")


@reviewed.each
def propose(item: ff.ItemWork) -> str:
    """Records that it was called: once is enough."""
    note(item.options, "start", item.key, item.attempt, "-", os.getpid())
    return f"text {item.input}"


@reviewed.merge
def agree(task: ff.TaskWork, results: ff.Results) -> dict[str, list[str]]:
    """The decisions that it has read; it waits while a file that blocks it exists."""
    found = {result.key: sorted(result.decisions) for result in results if result.decisions}
    note(task.options, "merge", "-", task.attempt, "-", os.getpid())
    while os.path.exists(task.options["log"] + ".hold"):
        time.sleep(0.05)
    return found


stubborn = ff.Pipeline("stubborn")


@stubborn.each
def hold(item: ff.ItemWork) -> str:
    """Runs until it is no longer wanted, or its time is over."""
    note(item.options, "start", item.key, item.attempt, "-", os.getpid())
    end = time.monotonic() + item.options["seconds"]
    while time.monotonic() < end:
        item.check()
        time.sleep(0.02)
    return item.key


poisoned = ff.Pipeline("poisoned")


@poisoned.each
def swallow(item: ff.ItemWork) -> int:
    """One of them kills its process."""
    note(item.options, "start", item.key, item.attempt, "-", os.getpid())
    if item.key == "bad":
        os._exit(3)
    time.sleep(0.02)
    return os.getpid()


external = ff.Pipeline("external")


@external.each
async def render(item: ff.ItemWork) -> Any:
    """Has a job done elsewhere."""
    service = item.options["service"]

    def look(job: str) -> Any:
        state = asked(f"{service}/look?job={job}")
        return ff.later(0.1) if state == "busy" else state

    return await item.external(
        start=lambda key: asked(f"{service}/start?key={key}"),
        look=look,
        find=(lambda key: asked(f"{service}/find?key={key}")) if item.options.get("find", True) else None,
    )


def asked(url: str) -> Any:
    """What the service says."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.loads(answer.read())


quick = ff.Pipeline("quick")


@quick.each
async def pass_through(item: ff.ItemWork) -> int:
    """Nothing."""
    return item.seq


wide = ff.Pipeline("wide")


@wide.split
def spread(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """Many items, each with an input of its own."""
    for number in range(task.options["count"]):
        yield ff.NewItem(key=f"page-{number:06}", input={"text": f"the text of page {number} " * 4})


@wide.each
async def read(item: ff.ItemWork) -> int:
    """Nothing."""
    return item.seq


@wide.merge
def gather(task: ff.TaskWork, results: ff.Results) -> int:
    """Streams all of it."""
    return sum(1 for _ in results.all())
