"""The client for `async def`, generated from `Client` at import, so every method of `Client` exists here too.

``async_client.pyi`` has the signatures for type checkers. ``python -m tests.async_stub`` generates it, and a test checks that
it is current.
"""

from __future__ import annotations

from operator import attrgetter

from fanfold.engine.async_calls import AsyncCalls, AsyncPart, awaited, public_methods
from fanfold.engine.client import Client
from fanfold.engine.credits.accounts import Credits
from fanfold.engine.schedules import Schedules
from fanfold.engine.templates import Templates
from fanfold.engine.webhooks.endpoints import Webhooks


class AsyncTemplates(AsyncPart):
    """``Client.templates`` for `async def`."""


class AsyncSchedules(AsyncPart):
    """``Client.schedules`` for `async def`."""


class AsyncCredits(AsyncPart):
    """``Client.credits`` for `async def`."""


class AsyncWebhooks(AsyncPart):
    """``Client.webhooks`` for `async def`."""


class AsyncClient(AsyncCalls):
    """``Client`` for `async def`: the same methods, awaited; those that return iterators are used with ``async for``.

    It takes the same arguments, and ``threads``: how many calls run at the same time. Nothing blocks the event loop. A call
    that is cancelled before it starts never runs; a running one is not interrupted. Use it with ``async with``, or ``await
    close()``.
    """

    @property
    def templates(self) -> AsyncTemplates:
        """Templates by name and version, and which tasks used them."""
        return AsyncTemplates(self, attrgetter("templates"))

    @property
    def schedules(self) -> AsyncSchedules:
        """Tasks that are submitted at certain times."""
        return AsyncSchedules(self, attrgetter("schedules"))

    @property
    def credits(self) -> AsyncCredits:
        """Credits of owners: what they have, and what their tasks cost."""
        return AsyncCredits(self, attrgetter("credits"))

    @property
    def webhooks(self) -> AsyncWebhooks:
        """Webhooks: other programs that are notified about tasks."""
        return AsyncWebhooks(self, attrgetter("webhooks"))


for _name, _method in public_methods(Client).items():
    if _name != "close":
        setattr(AsyncClient, _name, awaited(_method))
_PARTS = (
    (Templates, AsyncTemplates),
    (Schedules, AsyncSchedules),
    (Credits, AsyncCredits),
    (Webhooks, AsyncWebhooks),
)
for _part, _asynchronous in _PARTS:
    for _name, _method in public_methods(_part).items():
        setattr(_asynchronous, _name, awaited(_method))
