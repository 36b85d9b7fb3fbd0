"""Keeps OCR from taking every process: a page of text takes milliseconds, and should not wait behind scans."""

from __future__ import annotations

import asyncio
import os
from weakref import WeakKeyDictionary


class Turns:
    """The turns to read a page by OCR. Only as many calls as may run at a time queue for a process."""

    def __init__(self) -> None:
        self.at_once = os.cpu_count() or 1
        """How many pages are read at a time in one event loop, from the next one on."""
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    def one(self) -> asyncio.Semaphore:
        """The turn for one page, in the running loop."""
        return self._turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self.at_once))


ocr_turns = Turns()
