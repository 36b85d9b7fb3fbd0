"""Limits concurrent calls of each kind, so that OCR does not occupy every process.

A text page takes milliseconds and should not wait. There is one process more than may read images; without OCR it is never
started, because as many calls may read text.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import asyncio


class Turns:
    """A semaphore for one kind of call, so that no more of them are queued for a process than may run at the same time."""

    def __init__(self) -> None:
        self.at_once = os.cpu_count() or 1
        """Concurrent calls per event loop; a change applies to the next loop."""
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    def one(self) -> asyncio.Semaphore:
        """The semaphore of the running loop."""
        import asyncio  # Takes 20 ms, and the command sets the limit before its child processes start.

        return self._turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self.at_once))


ocr_turns, reading_turns = Turns(), Turns()
