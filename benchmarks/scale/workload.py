"""The pipeline of the fleet: items that wait as long as their task says, and a merge that counts them."""

from __future__ import annotations

import asyncio

import fanfold as ff

counting = ff.Pipeline("counting")


@counting.each
async def count(item: ff.ItemWork) -> int:
    """A call to somebody else, which takes its time and none of ours."""
    await asyncio.sleep(float(item.options.get("seconds", 0.0)))
    return 1


@counting.merge
def add(task: ff.TaskWork, results: ff.Results) -> int:
    """As many as there were items."""
    return sum(int(result.output) for result in results)
