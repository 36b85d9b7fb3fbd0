"""A clock that moves only when it is turned, and an event loop that reads it."""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)
LOOK_SECONDS = 0.01
"""How long the loop waits for a thread before it looks whether that thread is still there."""


class Clock:
    """The time of a test: it stands still until it is turned."""

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
    """Turns the clock instead of waiting, as long as nothing but time is waited for."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._threads = set(threading.enumerate())

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; if nothing is, the clock is turned to the loop's next timer."""
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is not None and not self._is_outside_awaited():
            self._clock.advance(timeout)
            return []
        return self._wait(timeout)

    def _is_outside_awaited(self) -> bool:
        """Whether a socket or a thread may still say something. The loop itself has one socket, to be woken by."""
        return len(self.get_map()) > 1 or any(one not in self._threads for one in threading.enumerate())

    def _wait(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait in real time, which then counts as time that has passed."""
        started = time.monotonic()
        ready = super().select(LOOK_SECONDS if timeout is None else min(timeout, LOOK_SECONDS))
        self._clock.advance(time.monotonic() - started)
        return ready


class TurnedLoop(asyncio.SelectorEventLoop):
    """An event loop on a clock that is turned. `asyncio.to_thread` runs at once in it, so the order is always the same."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(TurnedSelector(clock))
        self._turned = clock

    def time(self) -> float:
        """The clock that is turned."""
        return self._turned.seconds

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Run it here and now."""
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
