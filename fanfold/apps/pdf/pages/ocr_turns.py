"""Limits concurrent OCR so that it does not occupy every process: a text page takes milliseconds and should not wait."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import asyncio


class Turns:
    """A semaphore for OCR pages, so that no more OCR calls are queued for a process than may run at the same time."""

    def __init__(self) -> None:
        self.at_once = os.cpu_count() or 1
        """Concurrent OCR pages per event loop; a change applies to the next loop."""
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    def one(self) -> asyncio.Semaphore:
        """The semaphore of the running loop."""
        import asyncio  # Takes 20 ms, and the command sets the limit before its child processes start.

        return self._turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self.at_once))


ocr_turns = Turns()
