"""Calls the functions of a handler that talk to an external service, and judges how such a call failed."""

from __future__ import annotations

import asyncio
import inspect
import socket
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from fanfold.errors import HandlerError


def is_refusal(error: BaseException | None) -> bool:
    """Whether the job was certainly not started: the handler says so, or nothing was sent."""
    if isinstance(error, HandlerError):
        return True
    while error is not None:
        if isinstance(error, ConnectionRefusedError | socket.gaierror):
            return True
        error = error.__cause__ or error.__context__
    return False


async def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call one of the handler's functions: `async def` in the loop, `def` in a daemon thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    found = await asyncio.wrap_future(_in_thread(partial(function, *arguments)))
    return await found if isinstance(found, Awaitable) else found


def _in_thread(function: Callable[[], Any]) -> Future[Any]:
    """Run it in a daemon thread, so that a service that does not answer cannot keep a worker from stopping."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            found = function()
        except BaseException as error:
            _settle(future, error=error)
        else:
            _settle(future, found)

    threading.Thread(target=run, daemon=True, name="external").start()
    return future


def _settle(future: Future[Any], found: Any = None, error: BaseException | None = None) -> None:
    """Set the result, unless the future was cancelled with the loop."""
    if future.set_running_or_notify_cancel():
        future.set_exception(error) if error is not None else future.set_result(found)
