"""The pytest fixture `engine`; put ``pytest_plugins = ["fanfold.testing.fixtures"]`` into the conftest.py of your tests.

It is named there, and not loaded in every pytest run by an entry point: that would put a fixture into projects which never asked
for it, and import Fanfold before tools such as coverage have begun to watch.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fanfold.testing.engine import Engine


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An engine of this test alone, empty, its clock at the beginning."""
    with Engine() as made:
        yield made
