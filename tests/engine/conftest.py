"""Fixtures for tests of the engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.live import Live
from tests.installation import HandClock, Installation, set_clock


@pytest.fixture
def clock() -> HandClock:
    """The clock of the installation."""
    return set_clock()


@pytest.fixture
def installation(database_url: str, tmp_path: Path, clock: HandClock) -> Iterator[Installation]:
    """An empty installation whose clock is turned by hand, once on SQLite and once on PostgreSQL."""
    made = Installation(database_url, tmp_path / "data", clock)
    yield made
    made.store.close()


@pytest.fixture
def sqlite_live(sqlite_url: str, tmp_path: Path) -> Iterator[Live]:
    """The same on SQLite alone, for what does not touch the database."""
    made = Live(sqlite_url, tmp_path / "data")
    yield made
    made.store.close()


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An empty installation with real time and real workers."""
    made = Live(database_url, tmp_path / "data")
    yield made
    made.store.close()
