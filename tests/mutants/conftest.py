"""What do the tests of this room get?"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.live import Live
from tests.installation import HandClock, Installation


@pytest.fixture
def clock() -> HandClock:
    """The clock of the installation."""
    return HandClock()


@pytest.fixture
def installation(database_url: str, tmp_path: Path, clock: HandClock) -> Iterator[Installation]:
    """An empty installation whose clock is turned by hand, once on SQLite and once on PostgreSQL."""
    made = Installation(database_url, tmp_path / "data", clock)
    yield made
    made.store.close()


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An empty installation with real time and real workers, whose leases are short."""
    made = Live(database_url, tmp_path / "data", heartbeat_seconds=0.2, lease_seconds=2.0)
    yield made
    made.store.close()
