"""Fixtures for browser tests: the browser, and an installation without workers that can be put into any state."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.acceptance.browser import chromium
from tests.installation import Installation


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real chromium, one for all tests of a module."""
    with chromium() as found:
        yield found


@pytest.fixture
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    """An installation on SQLite with the real clock; it knows the pipelines in the module's KNOWN."""
    made = Installation(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path / "data", None)
    if known := getattr(request.module, "KNOWN", ()):
        made.know(*known)
    yield made
    made.store.close()
