"""An installation on every database, for tests of the application."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation import Installation, set_clock


@pytest.fixture
def installation(database_url: str, tmp_path: Path) -> Iterator[Installation]:
    """One installation with a clock that stands still."""
    made = Installation(database_url, tmp_path / "data", set_clock())
    yield made
    made.store.close()
