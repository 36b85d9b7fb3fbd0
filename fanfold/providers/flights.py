"""The questions in flight in one event loop, and the clocks of the attempts that wait for their answers.

A flight is one question, from the first attempt that asks it until its answer arrives. Before the question is sent, it waits
for the provider's concurrency, for a shared limit and for a budget. This time does not count against the time limit of an
attempt, and an attempt that is stopped meanwhile has asked nothing. Once the question is sent, its answer is paid for, so the
flight continues even if nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from fanfold.model.money.questions import Answer, AttemptClock


class Flight:
    """One question in flight. The clocks of its attempts stand still exactly while it waits to be sent."""

    def __init__(self, fetch: Callable[[Flight], Awaitable[Answer]]) -> None:
        self.is_waiting = True
        self._clocks: list[AttemptClock] = []
        self.landed: asyncio.Future[Answer] = asyncio.ensure_future(fetch(self))

    async def answer(self, clock: AttemptClock) -> Answer:
        """Wait for the answer, with the clock of an attempt. If all attempts leave before it is sent, the flight is cancelled."""
        self._clocks.append(clock)
        if self.is_waiting:
            clock.hold()
        try:
            return await asyncio.shield(self.landed)
        finally:
            self._clocks.remove(clock)
            if self.is_waiting:
                clock.go_on()
                if not self._clocks:
                    self.landed.cancel()

    @contextmanager
    def sending(self) -> Iterator[None]:
        """While the question is recorded and sent, the clocks of all attempts run, and the flight is not cancelled."""
        self.is_waiting = False
        for clock in self._clocks:
            clock.go_on()
        try:
            yield
        finally:
            self.is_waiting = True
            for clock in self._clocks:
                clock.hold()

    def end_if_unwanted(self) -> None:
        """End the flight before it waits to be sent again, if no attempt waits for its answer."""
        if not self._clocks:
            raise asyncio.CancelledError


class Flights:
    """The questions in flight, by the key of their answer: each is asked once."""

    def __init__(self) -> None:
        self._under_way: dict[str, Flight] = {}

    def join(self, key: str, fetch: Callable[[Flight], Awaitable[Answer]]) -> tuple[Flight, bool]:
        """The flight of a question, and whether this call started it. A cancelled flight is not joined."""
        known = self._under_way.get(key)
        if known is not None and not known.landed.done() and not _is_given_up(known.landed):
            return known, False
        flight = self._under_way[key] = Flight(fetch)
        flight.landed.add_done_callback(lambda done: self._landed(key, flight, done))
        return flight, True

    async def finish(self, seconds: float) -> None:
        """Wait up to ``seconds`` for the flights: their answers are paid for, and nobody else waits for them."""
        if sent := [flight.landed for flight in self._under_way.values()]:
            await asyncio.wait(sent, timeout=seconds)

    def _landed(self, key: str, flight: Flight, done: asyncio.Future[Answer]) -> None:
        if self._under_way.get(key) is flight:
            del self._under_way[key]
        if not done.cancelled():
            done.exception()  # Mark it as retrieved, so that asyncio logs no warning if nobody waited for it.


def _is_given_up(landed: asyncio.Future[Answer]) -> bool:
    return isinstance(landed, asyncio.Task) and landed.cancelling() > 0
