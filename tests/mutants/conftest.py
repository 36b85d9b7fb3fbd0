"""Fixtures for the mutants: the installation of the engine's tests, and workers with short leases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.conftest import clock, installation
from tests.engine.live import Live

__all__ = ["clock", "installation", "live"]


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An empty installation with real time and real workers, whose leases are short."""
    made = Live(database_url, tmp_path / "data", heartbeat_seconds=0.2, lease_seconds=5.0)
    yield made
    made.store.close()
