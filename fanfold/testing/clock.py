"""A clock that moves only when a test advances it, and an event loop that uses it."""

from __future__ import annotations

import asyncio
import math
import selectors
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)
LOOK_SECONDS = 0.01
"""How long the loop waits for a thread before it checks whether that thread still exists."""


class Clock:
    """The time of a test. It stands still until it is advanced."""

    def __init__(self) -> None:
        self.now = BEGINNING

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    @property
    def seconds(self) -> float:
        """The seconds that have passed since the beginning of the test."""
        return (self.now - BEGINNING).total_seconds()

    def reset(self) -> None:
        """Go back to the beginning."""
        self.now = BEGINNING


class TurnedSelector(selectors.DefaultSelector):
    """Advances the clock instead of waiting, unless a socket or another thread may become ready."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._threads = set(threading.enumerate())

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """The events that are ready. If there are none, the clock advances to the loop's next timer."""
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is not None and not self._is_outside_awaited():
            # The clock counts microseconds: rounded down, it would never reach a timer that lies between two.
            self._clock.advance(math.ceil(timeout * 1e6) / 1e6)
            return []
        return self._wait(timeout)

    def _is_outside_awaited(self) -> bool:
        """Whether a socket or a thread may become ready. The loop itself has one socket, used to wake it."""
        return len(self.get_map()) > 1 or any(one not in self._threads for one in threading.enumerate())

    def _wait(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait in real time, and advance the clock by the same time."""
        started = time.monotonic()
        ready = super().select(LOOK_SECONDS if timeout is None else min(timeout, LOOK_SECONDS))
        self._clock.advance(time.monotonic() - started)
        return ready


class TurnedLoop(asyncio.SelectorEventLoop):
    """An event loop on a test's clock. `asyncio.to_thread` runs at once in it, so the order is always the same."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(TurnedSelector(clock))
        self._turned = clock

    def time(self) -> float:
        """The time on the test's clock."""
        return self._turned.seconds

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Run it at once, in this thread."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except StopIteration as error:
            future.set_exception(RuntimeError(f"raised StopIteration: {error}"))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            future.set_exception(error)
        return future

    def end(self) -> None:
        """Cancel what still runs, and close."""
        try:
            if left := asyncio.all_tasks(self):
                for task in left:
                    task.cancel()
                self.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self.run_until_complete(self.shutdown_asyncgens())
        finally:
            self.close()
