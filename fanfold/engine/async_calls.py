"""Runs the methods of a `Client` in a few threads for an event loop; the base of `AsyncClient`.

A call that waits for a thread and is cancelled never runs. A running one is not interrupted: it ends with its transaction,
which is short. Waiting and following hold no thread between two polls.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, wraps
from types import TracebackType
from typing import Any, Self, TypeVar

from fanfold.engine.client import Client
from fanfold.engine.queries.pauses import Pause, Steps, steps_of
from fanfold.errors import BadInput

THREADS = 8
"""Maximum concurrent calls of one client; fewer than the connections of its store."""
BATCH, BATCH_SECONDS = 50, 0.05
"""Maximum number of elements that an iterator reads ahead, and the maximum time it spends on that."""
Found = TypeVar("Found")


class AsyncCalls:
    """Opens a client in a thread with the first call, and runs its calls in threads."""

    def __init__(self, *given: Any, threads: int = THREADS, **named: Any) -> None:
        self._open = partial(Client, *given, **named)
        self._client: Client | None = None
        self._opening = threading.Lock()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="fanfold-client")
        self._closed = False

    async def __aenter__(self) -> Self:
        await self._call(lambda client: None)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for the running calls, then close the connections if this client opened them."""
        self._closed = True
        await asyncio.shield(asyncio.to_thread(self._end))

    async def _call(self, function: Callable[[Client], Found]) -> Found:
        """Run a function of the client in a thread. If the caller is cancelled, the function's result is closed."""
        if self._closed:
            raise BadInput("This AsyncClient is closed. Make a new one: ff.AsyncClient(…)", code="closed")
        # With the caller's context, so that a span or a request id set there is visible in the thread too.
        running = self._threads.submit(contextvars.copy_context().run, lambda: function(self._opened()))
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            running.add_done_callback(_close_result)
            raise

    async def _wait(self, start: Callable[[Client], Generator[Pause, None, Found]]) -> Found:
        """The answer of a query that pauses between polls; the event loop sleeps meanwhile."""
        steps = await self._call(start)
        while isinstance(step := await self._call(lambda _: _next(steps)), Pause):
            await asyncio.sleep(step.seconds)
        return step

    async def _iterate(self, start: Callable[[Client], Iterator[Found | Pause]]) -> AsyncGenerator[Found, None]:
        """The elements of a stream, a bounded batch at a time."""
        steps = await self._call(lambda client: iter(start(client)))
        while batch := await self._call(lambda _: _batch(steps)):
            for step in batch:
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                else:
                    yield step

    def _opened(self) -> Client:
        with self._opening:
            if self._client is None:
                self._client = self._open()
            return self._client

    def _end(self) -> None:
        self._threads.shutdown()
        if self._client is not None:
            self._client.close()


class AsyncPart:
    """A part of a client, such as its templates, whose calls run in the threads of the client."""

    def __init__(self, calls: AsyncCalls, part: Callable[[Client], Any]) -> None:
        self._calls = calls
        self._part = part

    async def _call(self, function: Callable[[Any], Found]) -> Found:
        return await self._calls._call(lambda client: function(self._part(client)))


def awaited(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of the client for `async def`: a coroutine, or an asynchronous generator if the method returns an iterator."""
    steps = steps_of(method)
    if is_iterator(method):
        return _iterating(method, steps or method)

    @wraps(method)
    async def call(self: AsyncCalls, /, *given: Any, **named: Any) -> Any:
        if steps is not None:
            return await self._wait(lambda client: steps(client, *given, **named))
        return await self._call(lambda client: method(client, *given, **named))

    return call


def is_iterator(method: Callable[..., Any]) -> bool:
    """Whether the result of a method of the client is read element by element."""
    returned = str(method.__annotations__["return"])
    return returned.startswith("Iterator[") or returned.partition("[")[0] == "Results"


def public_methods(owner: type) -> dict[str, Callable[..., Any]]:
    """The public methods of a client."""
    found = {name: getattr(owner, name) for name in dir(owner) if not name.startswith("_")}
    return {name: method for name, method in found.items() if callable(method)}


def _iterating(method: Callable[..., Any], steps: Steps) -> Callable[..., Any]:
    @wraps(method)
    def iterate(self: AsyncCalls, /, *given: Any, **named: Any) -> AsyncGenerator[Any, None]:
        return self._iterate(lambda client: steps(client, *given, **named))

    return iterate


def _next(steps: Generator[Pause, None, Found]) -> Pause | Found:
    try:
        return next(steps)
    except StopIteration as end:
        found: Found = end.value
        return found


def _batch(steps: Iterator[Found | Pause]) -> list[Found | Pause]:
    """The next elements: until the next pause, and within the limits."""
    batch: list[Found | Pause] = []
    end = time.monotonic() + BATCH_SECONDS
    for step in steps:
        batch.append(step)
        if isinstance(step, Pause) or len(batch) == BATCH or time.monotonic() > end:
            break
    return batch


def _close_result(ended: Future[Any]) -> None:
    """Close a result that nobody waits for any more, such as the file of a form."""
    if ended.cancelled() or ended.exception() is not None:
        return
    close = getattr(ended.result(), "close", None)
    if callable(close):
        close()
