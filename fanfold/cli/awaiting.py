"""Runs a pipeline where an event loop runs already: in a notebook, or in an `async def`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fanfold.cli.running import Ending, Wanted, result_of
from fanfold.model.pipeline import Pipeline, TaskFunction, as_pipeline


async def arun(
    pipeline: Pipeline | TaskFunction,
    *inputs: Any,
    items: Iterable[Any] | None = None,
    options: dict[str, Any] | None = None,
    database: str | None = None,
    data: str | None = None,
    fresh: bool = False,
    concurrency: int | None = None,
    straight_through: bool = False,
    progress: bool = True,
) -> Any:
    """``run``, awaited: for notebooks and `async def`. The event loop goes on, since the work has a thread of its own.

    Cancelled, it hands back what runs; the next call goes on where it was.
    """
    known = None if items is None else list(items)
    wanted = Wanted(as_pipeline(pipeline), inputs, known, options or {}, fresh, concurrency, straight_through)
    ending = Ending()
    thread = ThreadPoolExecutor(1, thread_name_prefix="arun")
    running = asyncio.wrap_future(thread.submit(result_of, wanted, database, data, progress, ending))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        ending.set()
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # It was told to stop: how it ended does not matter any more.
        raise
    finally:
        thread.shutdown(wait=False)
