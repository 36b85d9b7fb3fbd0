"""Threads for requests that need the database, so that they cannot delay requests that do not.

Commands may wait for SQLite's write lock, so they have separate threads and do not delay reads.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import current_default_thread_limiter, run_sync
from fastapi import APIRouter

from fanfold.model.text.sentences import say
from fanfold.server.threads.pictures import Busy

Made = TypeVar("Made")
READERS = 14
WRITERS = 10
UNLOCKERS = 2
MAKERS = 4
"""Threads of each kind. With the live reader and the health check, they do not exceed the database connections. Unlocking a
file waits seconds for a child process, and making a form runs application code, so both have their own threads and do
not delay other commands."""
WAIT_SECONDS = 15.0
"""Time to wait for a thread before a command is refused because others block the database."""
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
_limiters: RunVar[dict[str, CapacityLimiter]] = RunVar("fanfold_limiters")


def limit_readers() -> None:
    """Set the number of threads for everything that does not write."""
    current_default_thread_limiter().total_tokens = READERS


def limiter_of(kind: str, size: int) -> CapacityLimiter:
    """The limiter for one kind of thread in this event loop."""
    try:
        known = _limiters.get()
    except LookupError:
        known = {}
        _limiters.set(known)
    if kind not in known:
        known[kind] = CapacityLimiter(size)
    return known[kind]


def writers() -> CapacityLimiter:
    """The limiter for command threads in this event loop."""
    return limiter_of("writers", WRITERS)


async def writing(function: Callable[..., Made], *arguments: Any, **named: Any) -> Made:
    """Run a function that writes to the database in a thread. Raises Busy if none is free in time."""
    busy = say("commands_wait")
    return await _run(writers(), busy, partial(function, *arguments, **named))


async def unlocking(function: Callable[..., Made], *arguments: Any, **named: Any) -> Made:
    """Run a function that unlocks or unpacks a file in a thread. Raises Busy if none is free in time."""
    busy = say("files_unlocked")
    return await _run(limiter_of("unlockers", UNLOCKERS), busy, partial(function, *arguments, **named))


async def making(function: Callable[..., Made], *arguments: Any, **named: Any) -> Made:
    """Run application code in a thread. Raises Busy if none is free in time."""
    busy = say("forms_made")
    return await _run(limiter_of("makers", MAKERS), busy, partial(function, *arguments, **named))


async def _run(limiter: CapacityLimiter, busy: str, function: Callable[[], Made]) -> Made:
    turn = object()
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await limiter.acquire_on_behalf_of(turn)
    except TimeoutError:
        raise Busy(busy) from None
    try:
        return await run_sync(function, limiter=CapacityLimiter(1))
    finally:
        limiter.release_on_behalf_of(turn)


class Router(APIRouter):
    """A router that runs synchronous POST, DELETE and similar endpoints in the command threads."""

    def add_api_route(self, path: str, endpoint: Callable[..., Any], **rules: Any) -> None:
        """Add a route."""
        writes = not set(rules.get("methods") or {"GET"}) <= SAFE_METHODS
        if writes and not inspect.iscoroutinefunction(endpoint):
            endpoint = _in_writer(endpoint)
        super().add_api_route(path, endpoint, **rules)


def _in_writer(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(endpoint)
    async def run(*arguments: Any, **named: Any) -> Any:
        return await writing(endpoint, *arguments, **named)

    return run
