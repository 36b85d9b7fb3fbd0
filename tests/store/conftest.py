"""Fixtures for tests of the store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

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
