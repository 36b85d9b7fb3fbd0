"""An installation with a clock that tests set, on each database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation import HandClock, Installation, set_clock


@pytest.fixture
def clock() -> HandClock:
    return set_clock()


@pytest.fixture
def installation(database_url: str, tmp_path: Path, clock: HandClock) -> Iterator[Installation]:
    made = Installation(database_url, tmp_path / "data", clock)
    yield made
    made.store.close()
