"""The pytest fixture `engine`; put ``pytest_plugins = ["fanfold.testing.fixtures"]`` into the conftest.py of your tests.

There is no pytest entry point, because that would add the fixture to every project, and would import Fanfold before tools such
as coverage have started.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fanfold.testing.engine import Engine


@pytest.fixture
def engine() -> Iterator[Engine]:
    """A new, empty engine for this test."""
    with Engine() as made:
        yield made
