"""How are text layers read quickly? Some pages at a time: opening the document takes longer than reading a page of it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

import fanfold as ff
from fanfold.apps.pdf.pages import textlayer
from fanfold.apps.pdf.pages.textlayer import PageText

PAGES = 32
"""Measured on 400 pages: one at a time 12.5 ms each, 8 at a time 4.3, 32 at a time 2.9, all at once 2.3."""
KEPT = 16
READ_SECONDS = 120.0
"""Far more than it should take: 32 pages of text were read in a tenth of a second."""

Window = dict[int, PageText]


class Windows:
    """The windows of one event loop that were read lately, or are being read."""

    def __init__(self) -> None:
        self._windows: OrderedDict[tuple[str, int], asyncio.Task[Window]] = OrderedDict()
        self._waiting: Counter[asyncio.Task[Window]] = Counter()
        self._surveys: OrderedDict[str, dict[str, Any]] = OrderedDict()

    async def page(self, item: ff.ItemWork) -> PageText:
        """The text layer of an item's page; its neighbours are read with it, and find theirs waiting."""
        page: int = item.input["page"]
        source: ff.File = item.input["source"]
        survey = self._survey(item.input["survey"])
        key = (source.key, page // PAGES)
        if key not in self._windows:
            wanted = [number for number in survey["pages"] if number // PAGES == page // PAGES]
            self._windows[key] = asyncio.ensure_future(self._read(item, source, wanted, survey))
            self._windows[key].add_done_callback(lambda window: self._forget_failed(key, window))
            self._make_room()
        self._windows.move_to_end(key)
        try:
            found = await self._shared(key)
        except (ff.ChildDied, TimeoutError):
            # One page of it kills, or holds up, whoever reads it. Alone, only that page is lost.
            [text] = await item.in_child(textlayer.convert, source.path, [page], survey["survey"])
            return text
        return found[page]

    async def _shared(self, key: tuple[str, int]) -> Window:
        """A window that others may wait for as well: it goes on without this page, and ends when nobody waits any more.

        A page may keep its reader busy for minutes. Once the task is cancelled, nobody wants it, and the child is killed.
        """
        window = self._windows[key]
        self._waiting[window] += 1
        try:
            return await asyncio.shield(window)
        finally:
            self._waiting[window] -= 1
            if not self._waiting[window]:
                del self._waiting[window]
                if not window.done():
                    del self._windows[key]  # Whoever comes now must not wait for what is being cancelled.
                    window.cancel()

    async def _read(self, item: ff.ItemWork, source: ff.File, wanted: list[int], survey: dict[str, Any]) -> Window:
        async with asyncio.timeout(READ_SECONDS):
            texts = await item.in_child(textlayer.convert, source.path, wanted, survey["survey"])
        return {text.page: text for text in texts}

    def _make_room(self) -> None:
        """Let go of the windows that nobody has looked at for longest, but of none that is being read."""
        read = [key for key, window in self._windows.items() if window.done()]
        for key in read[: max(0, len(self._windows) - KEPT)]:
            del self._windows[key]

    def _forget_failed(self, key: tuple[str, int], window: asyncio.Task[Window]) -> None:
        """The next try reads anew; and whoever waited has the error, so that nobody else needs to be told."""
        failed = window.cancelled() or window.exception() is not None
        if failed and self._windows.get(key) is window:
            del self._windows[key]

    def _survey(self, file: ff.File) -> dict[str, Any]:
        if file.key not in self._surveys:
            self._surveys[file.key] = json.loads(file.read_text())
            while len(self._surveys) > KEPT:
                self._surveys.popitem(last=False)
        return self._surveys[file.key]


_windows: WeakKeyDictionary[asyncio.AbstractEventLoop, Windows] = WeakKeyDictionary()


def windows() -> Windows:
    """Those of the running loop."""
    return _windows.setdefault(asyncio.get_running_loop(), Windows())
