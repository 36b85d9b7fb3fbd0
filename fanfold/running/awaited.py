"""`arun`: runs a pipeline from a running event loop, such as a notebook or an `async def`."""

from __future__ import annotations

import asyncio
import contextvars
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Unpack, overload

from fanfold.model.pipelines.pipeline import Pipeline, TaskFunction
from fanfold.running.one import AsyncTaskFunction, Returned, RunStop, prepared
from fanfold.running.signatures import RunParameters, shows_parameters_of


@overload
async def arun(function: AsyncTaskFunction[Returned], /, *inputs: Any, **named: Unpack[RunParameters]) -> Returned: ...
@overload
async def arun(function: TaskFunction[..., Returned], /, *inputs: Any, **named: Unpack[RunParameters]) -> Returned: ...
@overload
async def arun(pipeline: Pipeline, /, *inputs: Any, **named: Unpack[RunParameters]) -> Any: ...
@shows_parameters_of(prepared)
async def arun(*arguments: Any, **named: Any) -> Any:
    """Awaitable version of ``run`` for notebooks and `async def`. The work runs in its own thread, so the loop stays free.

    If cancelled, it hands back running items; the next call resumes.
    """
    job = prepared(*arguments, **named)
    ending = RunStop()
    thread = ThreadPoolExecutor(1, thread_name_prefix="arun")
    # With the caller's context, so that what is submitted belongs to the caller's trace.
    running = asyncio.wrap_future(thread.submit(contextvars.copy_context().run, job.result, ending))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        ending.set()
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # Mark the outcome as retrieved: after a stop, it no longer matters.
        raise
    finally:
        thread.shutdown(wait=False)
