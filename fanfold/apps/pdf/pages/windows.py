"""Reads text layers in windows of 32 pages, because opening the document takes longer than reading one page."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import fanfold as ff
from fanfold.apps.pdf.pages.in_children import page_texts
from fanfold.apps.pdf.pages.ocr_turns import reading_turns
from fanfold.apps.pdf.pages.page_text import PageText

PAGES = 32
"""Pages per window. Time per page over 400 pages: 12.5 ms one at a time, 4.3 with 8, 2.9 with 32, 2.3 with all."""
KEPT = 48
READ_SECONDS = 120.0
"""Timeout of a window. Reading 32 text pages takes about 0.1 s."""

Window = dict[int, PageText]


class Windows:
    """Cache of recent windows, including those being read, for one event loop."""

    def __init__(self) -> None:
        self._windows: OrderedDict[tuple[str, int, bool], asyncio.Future[Window]] = OrderedDict()
        self._waiting: Counter[asyncio.Future[Window]] = Counter()
        self._surveys: OrderedDict[str, dict[str, Any]] = OrderedDict()

    async def page(self, item: ff.ItemWork) -> PageText:
        """The text layer of an item's page. Neighbouring pages are read with it and cached."""
        page: int = item.input["page"]
        source: ff.File = item.input["source"]
        survey = await self._survey(item.input["survey"])
        key = (source.key, page // PAGES, bool(survey["survey"].get("figures")))
        if key not in self._windows:
            wanted = [number for number in survey["pages"] if number // PAGES == page // PAGES]
            self._windows[key] = asyncio.ensure_future(self._read(item, source, wanted, survey))
            self._windows[key].add_done_callback(lambda window: self._forget_failed(key, window))
            self._make_room()
        self._windows.move_to_end(key)
        try:
            found = await self._shared(key)
        except (ff.ChildDied, TimeoutError, FileNotFoundError):
            # Some page in the window crashes or blocks the reader: read alone, only that page is lost. Or the attempt that
            # began to read was stopped, and its copy of a file in a bucket is gone.
            [text] = await item.in_child(page_texts, await item.local(source), [page], survey["survey"])
            return text
        return found[page]

    def keep(self, source: ff.File, texts: Sequence[PageText], *, figures: bool) -> None:
        """Keep pages that were read with the survey: all the wanted ones of their document."""
        for number in {text.page // PAGES for text in texts}:
            window: asyncio.Future[Window] = asyncio.get_running_loop().create_future()
            window.set_result({text.page: text for text in texts if text.page // PAGES == number})
            self._windows[source.key, number, figures] = window
        self._make_room()

    async def _shared(self, key: tuple[str, int, bool]) -> Window:
        """A window shared by several waiters: it continues without this page, and is cancelled when nobody waits.

        A page may block its reader for minutes. If the task is cancelled, nobody needs it and the child is killed.
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
                    del self._windows[key]  # New callers must not wait for a window that is being cancelled.
                    window.cancel()

    async def _read(self, item: ff.ItemWork, source: ff.File, wanted: list[int], survey: dict[str, Any]) -> Window:
        async with reading_turns.one(), asyncio.timeout(READ_SECONDS):
            texts = await item.in_child(page_texts, await item.local(source), wanted, survey["survey"])
        return {text.page: text for text in texts}

    def _make_room(self) -> None:
        """Evict the least recently used windows, except those being read."""
        read = [key for key, window in self._windows.items() if window.done()]
        for key in read[: max(0, len(self._windows) - KEPT)]:
            del self._windows[key]

    def _forget_failed(self, key: tuple[str, int, bool], window: asyncio.Future[Window]) -> None:
        """Drop a failed window so that the next attempt reads it again. The waiters already have the error."""
        failed = window.cancelled() or window.exception() is not None
        if failed and self._windows.get(key) is window:
            del self._windows[key]

    async def _survey(self, file: ff.File | dict[str, Any]) -> dict[str, Any]:
        if isinstance(file, dict):
            return file
        if file.key not in self._surveys:
            self._surveys[file.key] = json.loads(await asyncio.to_thread(file.read_text))
            while len(self._surveys) > KEPT:
                self._surveys.popitem(last=False)
        return self._surveys[file.key]


_windows: WeakKeyDictionary[asyncio.AbstractEventLoop, Windows] = WeakKeyDictionary()


def windows() -> Windows:
    """The windows of the running loop."""
    return _windows.setdefault(asyncio.get_running_loop(), Windows())
