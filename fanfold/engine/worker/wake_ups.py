"""Wakes the loop of a worker: hints of new work come from any thread and are followed at the pace of the fleet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from fanfold.engine.worker.fleet_pace import FleetPace

log = logging.getLogger("fanfold.worker")


class WakeUps:
    """Whether there may be new work, and how the loop learns of it. The first poll needs no hint."""

    def __init__(self, name: str) -> None:
        self.pace = FleetPace()
        self.noted = True
        """Whether a hint has not been followed by a poll yet."""
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._follows: asyncio.TimerHandle | None = None

    def attach(self) -> None:
        """Wake the running loop from now on."""
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()

    def from_thread(self, function: Callable[..., None]) -> Callable[..., None]:
        """The function, to be called from any thread: it runs in the loop, soon."""

        def call(*arguments: Any) -> None:
            try:
                if self._loop is not None:
                    self._loop.call_soon_threadsafe(function, *arguments)
            except RuntimeError:  # The loop is closed.
                log.debug("[%s] Too late for the loop: %s", self._name, function)

        return call

    def note(self) -> None:
        """Poll at the next turn, and take it now."""
        self.noted = True
        self.wake()

    def wake(self) -> None:
        """Take a turn now."""
        self._wake.set()

    def follow(self) -> None:
        """Poll because somebody announced work: at once, or in a large fleet when it is this worker's turn."""
        delay = self.pace.seconds_to_follow()
        if delay == 0.0:
            self.note()
        elif self._follows is None and self._loop is not None:
            self._follows = self._loop.call_later(delay, self._follow_late)

    def _follow_late(self) -> None:
        self._follows = None
        self.note()

    def take(self) -> bool:
        """Begin a turn: whether it has to poll for new work."""
        self._wake.clear()
        noted, self.noted = self.noted, False
        return noted

    async def rest(self, longest: float) -> None:
        """Wait to be woken. After ``longest`` seconds without that, poll."""
        # If it is set, do not yield: the items just started would run first, and nothing would run during the next claim.
        if self._wake.is_set():
            return
        try:
            await asyncio.wait_for(self._wake.wait(), longest)
        except TimeoutError:
            self.noted = True
