"""Fixtures for tests of the server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fanfold.server.watching import live
from tests.cli.samples import pages, words
from tests.installation import Installation
from tests.server.asking import Asker


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The live reader polls ten times as often as in production."""
    monkeypatch.setattr(live, "INTERVAL_SECONDS", 0.05)


@pytest.fixture
def installation(database_url: str, tmp_path: Path) -> Iterator[Installation]:
    """An installation on a fresh database, once for each kind, by the real clock."""
    yield from installed(database_url, tmp_path)


@pytest.fixture
def sqlite_installation(sqlite_url: str, tmp_path: Path) -> Iterator[Installation]:
    """An installation on SQLite, for what is the same on every database."""
    yield from installed(sqlite_url, tmp_path)


def installed(url: str, folder: Path) -> Iterator[Installation]:
    """An installation that knows two pipelines, closed afterwards."""
    made = Installation(url, folder / "data", None)
    made.know(words, pages)
    yield made
    made.store.close()


@pytest.fixture
def asker(installation: Installation) -> Iterator[Asker]:
    """A server that demands no token."""
    made = Asker(installation)
    with made.client:
        yield made


@pytest.fixture
def sqlite_asker(sqlite_installation: Installation) -> Iterator[Asker]:
    """The same on SQLite only."""
    made = Asker(sqlite_installation)
    with made.client:
        yield made
