"""Pipelines of the chaos tests. One keeps a steady pace; others ignore cancellation, write a lot, or fail at first."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fanfold as ff
from tests.acceptance import work as acceptance
from tests.acceptance.work import note

steady = ff.Pipeline("steady")
"""Like `crowd`, at a pace that the handlers set and not the machine, until the file `hurry` is there."""


@steady.split
def cut(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """As many items as were asked for."""
    for number in range(task.options["count"]):
        yield ff.NewItem(key=f"k{number}", input=number)


@steady.each
async def work(item: ff.ItemWork) -> dict[str, Any]:
    """Says who it is before and after its time, and in its output."""
    token = secrets.token_hex(4)
    note(item.options, "start", item.key, item.attempt, token, os.getpid())
    if not Path(item.options["hurry"]).exists():
        await asyncio.sleep(item.options["seconds"])
    note(item.options, "end", item.key, item.attempt, token, os.getpid())
    return {"key": item.key, "attempt": item.attempt, "token": token, "pid": os.getpid()}


@steady.merge
def bind(task: ff.TaskWork, results: ff.Results) -> dict[str, Any]:
    """Counts what it was given."""
    note(task.options, "merge", "-", task.attempt, "-", os.getpid())
    keys = [result.output["key"] for result in results]
    return {"count": len(keys), "different": len(set(keys)), "attempt": task.attempt}


deaf = ff.Pipeline("deaf")


@deaf.each
async def ignore(item: ff.ItemWork) -> str:
    """One of them ignores cancellation forever; the others take a moment."""
    note(item.options, "start", item.key, item.attempt, "-", os.getpid())
    while item.key == "deaf" and item.attempt == 1:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            note(item.options, "deaf", item.key, item.attempt, "-", os.getpid())
    await asyncio.sleep(0.05)
    return item.key


deaf_function = ff.Pipeline("deaf_function")


@deaf_function.each(timeout=None, retry=ff.Retry(limit=0), resources={"CPU": 0.5, "special": 1})
def never_end(item: ff.ItemWork) -> None:
    """Ignores that its task was cancelled."""
    note(item.options, "start", item.key, item.attempt, "-", os.getpid())
    while True:
        time.sleep(0.1)


talkative = ff.Pipeline("talkative")


@talkative.each(retry=ff.Retry(0))
def chat(item: ff.ItemWork) -> dict[str, Any]:
    """Writes all the time, in every possible way; no retry is allowed."""
    note(item.options, "start", item.key, item.attempt, "-", os.getpid())
    end, said = time.monotonic() + item.options["seconds"], 0
    while time.monotonic() < end:
        item.remember(said=said)
        item.emit(said)
        item.flush()
        item.progress(1.0)
        said += 1
    return {"said": said, "file": item.write("said.txt", str(said))}


backing_off = ff.Pipeline("backing_off")


@backing_off.each
async def fail_once(item: ff.ItemWork) -> int:
    """Fails at first, and asks for a while before the next try."""
    note(item.options, "start", item.key, item.attempt, "-", os.getpid())
    if item.attempt == 1:
        raise ff.Temporary("not yet", after=item.options["after"])
    return item.attempt


asking = ff.Pipeline("asking")


@asking.each
async def ask(item: ff.ItemWork) -> str:
    """One paid question for each item."""
    return str((await item.ask(str(item.input))).text)


crowd_in_children = ff.Pipeline("crowd_in_children")
"""`crowd`, with a child process for each running item."""
crowd_in_children.split(acceptance.cut)
crowd_in_children.each(isolate=True, concurrency=2)(acceptance.work)
crowd_in_children.merge(acceptance.bind)
