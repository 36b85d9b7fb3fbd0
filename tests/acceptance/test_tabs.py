"""A browser with eight tabs, hidden pages and a lost database still shows the truth, quickly."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from fanfold.server.watching import live
from fanfold.store.dialects.sqlite_parts.sqlite_module import sqlite_module
from fanfold.store.store import Store
from tests.acceptance.browser import PATIENCE, away, looking
from tests.cli.samples import words
from tests.databases import Databases, upgrade
from tests.installation import Installation
from tests.server.asking import served
from tests.servers import PostgresServer
from tests.waiting import eventually

KNOWN = (words,)
TABS = 8
HIDDEN = """
  let hidden = true;
  Object.defineProperty(document, "hidden", { get: () => hidden });
  Object.defineProperty(document, "visibilityState", { get: () => (hidden ? "hidden" : "visible") });
  window.show = (shown) => { hidden = !shown; document.dispatchEvent(new Event("visibilitychange")); };
"""
"""A tab opened in the background: hidden from the start, without any event that says so."""


@contextmanager
def tabs_of(browser: Browser, address: str) -> Iterator[BrowserContext]:
    """Tabs of one browser, which share its six connections."""
    context = browser.new_context(base_url=address)
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    yield context
    context.close()


def opened(context: BrowserContext, path: str, *, hidden: bool = False) -> Page:
    page = context.new_page()
    if hidden:
        page.add_init_script(HIDDEN)
    page.goto(path)
    return page


def test_eight_tabs_share_one_stream_and_none_of_them_freezes(browser: Browser, here: Installation) -> None:
    task = here.client.submit(words, items=["x", "y"], title="the one")
    paths = ["/", f"/tasks/{task.id}", f"/tasks/{task.id}/item?key=1", "/?show=active", "/workers", "/", "/", "/"]
    assert len(paths) == TABS
    with served(here) as (address, place), tabs_of(browser, address) as context:
        pages = [opened(context, path) for path in paths]
        eventually(lambda: place.live.watchers == 1)
        here.client.pause(task.id)
        for page, path in zip(pages, paths, strict=True):
            if path == "/" or (path.startswith(f"/tasks/{task.id}") and "item" not in path):
                expect(page.locator("main")).to_contain_text("paused")
        pages[3].goto("/?show=needs")
        expect(pages[3].locator("[data-row]")).to_contain_text("the one")
        eventually(lambda: place.live.watchers <= 1)
        pages[0].close()  # If the page with the stream is closed, another one takes the stream over.
        here.client.resume(task.id)
        expect(pages[5].locator("[data-row]")).not_to_contain_text("paused")
        eventually(lambda: place.live.watchers == 1)


def test_a_tab_that_nobody_sees_has_no_stream_and_asks_for_nothing(browser: Browser, here: Installation) -> None:
    task = here.client.submit(words, items=["x", "y"], title="the one")
    with served(here) as (address, place), tabs_of(browser, address) as context:
        pages = [opened(context, "/", hidden=True) for _ in range(TABS - 1)]
        front = opened(context, f"/tasks/{task.id}")
        eventually(lambda: place.live.watchers == 1)
        asked: list[str] = []
        for page in pages:
            page.on("request", lambda request: asked.append(request.url))
        here.client.pause(task.id)
        expect(front.locator("#task")).to_contain_text("paused")
        front.wait_for_timeout(3_000)
        assert asked == []
        pages[0].evaluate("show(true)")
        expect(pages[0].locator("[data-row]")).to_contain_text("paused")
        pages[0].evaluate("show(false)")
        front.close()
        eventually(lambda: place.live.watchers == 0)
        pages[0].evaluate("show(true)")
        eventually(lambda: place.live.watchers == 1)
        here.client.resume(task.id)
        expect(pages[0].locator("[data-row]")).not_to_contain_text("paused")


@pytest.mark.one_database
@pytest.mark.parametrize("path", ["/", "/tasks/{id}", "/tasks/{id}/item?key=1", "/tasks/{id}/items", "/workers"])
def test_a_lost_database_is_told_on_every_open_page_and_comes_back_by_itself(
    browser: Browser, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    with databases.fresh() as url:
        here = Installation(url, tmp_path / "data", None)
        here.know(words)
        task = here.client.submit(words, items=["x", "y"], title="the one")
        unavailable = ("503",)
        with served(here) as (address, place), looking(browser, address, complaints=unavailable) as page:
            page.goto(path.format(id=task.id))
            other = page.context.new_page()  # It has no stream, and polls from time to time.
            other.goto(path.format(id=task.id))
            eventually(lambda: place.live.watchers == 1)
            for one in (page, other):
                expect(one.locator("#connection")).to_be_hidden()
            with monkeypatch.context() as broken:
                broken.setattr(Store, "read", away)
                for one in (page, other):
                    expect(one.locator("#connection")).to_contain_text("Database lost since")
                    expect(one.locator("body")).to_have_class(re.compile("offline"))
                    assert float(one.locator("main").evaluate("main => getComputedStyle(main).opacity")) < 1
                    assert "db.internal" not in one.content()
            for one in (page, other):
                expect(one.locator("#connection")).to_be_hidden()
            here.client.pause(task.id)
            if path in ("/", "/tasks/{id}"):
                expect(page.locator("main")).to_contain_text("paused")
                expect(other.locator("main")).to_contain_text("paused")
        here.store.close()


def test_a_server_that_is_stopped_and_started_is_told_and_taken_up_again(
    browser: Browser, own_postgres: PostgresServer, tmp_path: Path
) -> None:
    url = own_postgres.create_database("fanfold")
    upgrade(url)
    here = Installation(url, tmp_path / "data", None)
    here.know(words)
    task = here.client.submit(words, items=["x", "y"], title="the one")
    with served(here) as (address, _), looking(browser, address, complaints=("503",)) as page:
        page.goto(f"/tasks/{task.id}")
        expect(page.locator("#connection")).to_be_hidden()
        own_postgres.stop("immediate")
        expect(page.locator("#connection")).to_contain_text("Database lost since")
        answer = page.request.get(f"{address}/health")
        assert answer.status == 503
        assert str(here.store.database.url.port) not in answer.text()
        own_postgres.start()
        expect(page.locator("#connection")).to_be_hidden()
        here.client.pause(task.id)
        expect(page.locator("#task")).to_contain_text("paused")
    here.store.close()


def test_a_page_that_finds_no_database_loads_when_there_is_one(
    browser: Browser, here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.client.submit(words, items=["x"], title="the one")
    with served(here) as (address, _), looking(browser, address, complaints=("503",)) as page:
        with monkeypatch.context() as broken:
            broken.setattr(Store, "read", away)
            page.goto("/")
            expect(page.get_by_role("heading", level=1)).to_contain_text("database cannot be used")
        expect(page.locator("[data-row]")).to_contain_text("the one")


@pytest.mark.parametrize("path", ["/", "/tasks/{id}", "/workers"])
def test_a_database_that_another_program_keeps_locked_is_told_on_open_pages(
    browser: Browser, here: Installation, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """For a reader who changes nothing: what is shown is true, but nothing can be changed; the message disappears by itself."""
    monkeypatch.setattr(live, "LOCKED_SECONDS", 0.5)
    here.know(words)
    task = here.client.submit(words, items=["x", "y"], title="the one")
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto(path.format(id=task.id))
        other = page.context.new_page()  # It has no stream, and polls from time to time.
        other.goto(path.format(id=task.id))
        for one in (page, other):
            expect(one.locator("#connection")).to_be_hidden()
        locker = sqlite_module().connect(str(here.store.database.url.database), isolation_level=None)
        locker.execute("BEGIN IMMEDIATE")
        for one in (page, other):
            expect(one.locator("#connection")).to_contain_text("Another program has locked the database since")
            expect(one.locator("body")).not_to_have_class(re.compile("offline"))
        locker.execute("ROLLBACK")
        locker.close()
        for one in (page, other):
            expect(one.locator("#connection")).to_be_hidden()
        here.client.pause(task.id)
        expect(page.locator("main")).to_contain_text("paused" if path != "/workers" else "Workers")
