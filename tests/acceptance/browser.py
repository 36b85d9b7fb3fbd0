"""Opens pages in a real chromium. A page that logs an error, or that violates its content policy, fails the test."""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from fanfold.errors import DatabaseProblem
from fanfold.store.store import Store
from tests.installation import Installation

SWITCHES = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-quic", "--disable-dev-shm-usage",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DESKTOP = ViewportSize(width=1280, height=900)
PHONE = ViewportSize(width=390, height=844)
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PATIENCE = 60_000
"""How long a page may take to show what a test expects, in milliseconds, on a machine that is busy with other tests."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser. Without one a test is skipped, but on CI it fails."""
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        if os.environ.get("CI"):
            raise RuntimeError("no chromium: apt-get install chromium")
        pytest.skip("no chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(SWITCHES))
        yield browser
        browser.close()


@contextmanager
def looking(
    browser: Browser,
    address: str,
    *,
    size: ViewportSize = DESKTOP,
    language: str = "en-US",
    complaints: tuple[str, ...] = (),
) -> Iterator[Page]:
    """A page at a URL; ``complaints`` are parts of console messages that the test expects."""
    context = browser.new_context(base_url=address, viewport=size, locale=language, accept_downloads=True)
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    heard: list[str] = []
    page.on("console", lambda message: heard.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: heard.append(str(error)))
    yield page
    context.close()
    unexpected = [text for text in heard if not any(part in text for part in complaints)]
    assert not unexpected, unexpected


def save(page: Page, name: str) -> None:
    """Save a screenshot of the page to the folder in FANFOLD_SCREENSHOTS, if set."""
    if wanted := os.environ.get("FANFOLD_SCREENSHOTS"):
        folder = Path(wanted)
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"{name}.png", full_page=True)


def fits(page: Page, name: str) -> None:
    """Check that nothing is wider than a desktop or a phone; screenshots of both have this name. The page stays loaded."""
    for where, size in (("phone", PHONE), ("desktop", DESKTOP)):
        page.set_viewport_size(size)
        assert page.evaluate(TOO_WIDE) <= 0, (page.url, where)
        save(page, f"{name}-{where}")


def work(here: Installation) -> None:
    """Run due work in a thread, because the browser's loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(here.work).result()


def away(_store: Store) -> Any:
    """Replaces ``Store.read``: the database is lost."""
    raise DatabaseProblem("Cannot use the database postgresql://db.internal: it is away.", code="unreachable")
