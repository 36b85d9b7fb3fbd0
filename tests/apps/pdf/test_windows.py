"""A window is read once for all of its pages, and only while one of them is wanted."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

from fanfold.apps.pdf.pages.page_text import PageText
from fanfold.apps.pdf.pages.windows import Windows


class Reader:
    """Stands for items whose window takes as long to read as the test says."""

    def __init__(self) -> None:
        self.reads = 0
        self.ended = 0
        self.free = asyncio.Event()

    async def in_child(self, _function: Any, _path: Any, wanted: list[int], _survey: Any) -> list[PageText]:
        self.reads += 1
        try:
            await self.free.wait()
        finally:
            self.ended += 1
        return [PageText(page, f"page {page}", f"page {page}", False) for page in wanted]

    async def local(self, file: Any) -> Any:
        """The path of the document."""
        return file.path

    def item(self, page: int) -> Any:
        """One page of a document of three."""
        survey = SimpleNamespace(key="survey", read_text=lambda: json.dumps({"pages": [1, 2, 3], "survey": {}}))
        source = SimpleNamespace(key="document", path="book.pdf")
        given = {"page": page, "source": source, "survey": survey}
        return SimpleNamespace(input=given, in_child=self.in_child, local=self.local)


async def begun(windows: Windows, reader: Reader, page: int) -> asyncio.Task[PageText]:
    task = asyncio.ensure_future(windows.page(reader.item(page)))
    while not windows._surveys:  # A thread reads it.
        await asyncio.sleep(0.001)
    for _ in range(10):
        await asyncio.sleep(0)
    return task


async def cancelled(task: asyncio.Task[PageText]) -> None:
    task.cancel()
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_window_goes_on_while_any_page_of_it_is_wanted() -> None:
    async def scene() -> None:
        windows, reader = Windows(), Reader()
        first, second = await begun(windows, reader, 1), await begun(windows, reader, 2)
        await cancelled(first)
        assert (reader.reads, reader.ended) == (1, 0)
        reader.free.set()
        assert (await second).text == "page 2"

    asyncio.run(scene())


def test_a_window_that_nobody_wants_any_more_is_given_up_at_once() -> None:
    async def scene() -> None:
        windows, reader = Windows(), Reader()
        for page in (1, 2):
            await cancelled(await begun(windows, reader, page))
            assert (reader.reads, reader.ended) == (page, page)

    asyncio.run(scene())


def test_a_page_that_comes_while_its_window_is_given_up_reads_anew() -> None:
    async def scene() -> None:
        windows, reader = Windows(), Reader()
        first = await begun(windows, reader, 1)
        first.cancel()
        await asyncio.sleep(0)
        second = asyncio.ensure_future(windows.page(reader.item(2)))
        for _ in range(10):
            await asyncio.sleep(0)
        reader.free.set()
        assert (await second).text == "page 2"
        assert reader.reads == 2

    asyncio.run(scene())


def test_a_page_that_was_read_with_the_survey_is_not_read_again() -> None:
    async def looked() -> None:
        windows, reader = Windows(), Reader()
        texts = [PageText(page, f"page {page}", f"page {page}", False) for page in (1, 2, 3)]
        windows.keep(reader.item(1).input["source"], texts, figures=False)
        assert [await windows.page(reader.item(page)) for page in (1, 2, 3)] == texts
        assert reader.reads == 0

    asyncio.run(looked())
