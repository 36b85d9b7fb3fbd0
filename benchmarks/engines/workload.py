"""Pipelines for Fanfold's workers, whose handlers only count, wait a moment, or record when they start."""

from __future__ import annotations

import asyncio

import fanfold as ff
from benchmarks.engines import tally

noop = ff.Pipeline("noop")


@noop.each
async def count(item: ff.ItemWork) -> int:
    """Nothing, and a result that is kept."""
    tally.started()
    return 1


@noop.merge
def add(task: ff.TaskWork, results: ff.Results) -> int:
    """The sum of all results: as many as there were items."""
    tally.note("merge", task.id)
    seen = sum(int(result.output) for result in results)
    tally.fanned_in(seen)
    return seen


paced = ff.Pipeline("paced")


@paced.each
async def wait(item: ff.ItemWork) -> int:
    """A call to somebody else that takes its time, and none of ours."""
    tally.started()
    await asyncio.sleep(item.input["seconds"])
    return 1


@paced.merge
def add_paced(task: ff.TaskWork, results: ff.Results) -> int:
    """The same sum."""
    return add(task, results)


single = ff.Pipeline("single")


@single.each
async def note_start(item: ff.ItemWork) -> int:
    """Says when it was started."""
    tally.note("start", item.input)
    return 1
