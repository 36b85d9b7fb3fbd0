"""The client for `async def`, made from `Client` when it is imported: a method of `Client` is one here, too.

``async_client.pyi`` beside it has the signatures for type checkers. ``python -m tests.async_stub`` writes it, a test compares it.
"""

from __future__ import annotations

from fanfold.engine.async_calls import AsyncCalls, awaited, public_methods
from fanfold.engine.client import Client


class AsyncClient(AsyncCalls):
    """``Client`` for `async def`: the same methods, awaited; those that return iterators are used with ``async for``.

    It takes the same arguments, and ``threads``: how many calls run at the same time. Nothing blocks the event loop. A call that
    is cancelled before it runs never runs; one that runs ends by itself. Use it with ``async with``, or ``await close()``.
    """


for _name, _method in public_methods(Client).items():
    if _name != "close":
        setattr(AsyncClient, _name, awaited(_method))
