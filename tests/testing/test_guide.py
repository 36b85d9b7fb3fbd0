"""The tests in the guide to testing pipelines are tests that pass."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.testing import Engine

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "testing-pipelines.md"


def names_of_the_guide() -> dict[str, Any]:
    """What its examples define, taken together as one module."""
    names: dict[str, Any] = {"ff": ff, "__name__": "guide"}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(GUIDE), "exec"), names)
    return names


TESTS: dict[str, Callable[[Engine], None]] = {
    name: found for name, found in names_of_the_guide().items() if name.startswith("test_")
}


def test_the_guide_has_tests() -> None:
    assert len(TESTS) >= 6


@pytest.mark.parametrize("name", TESTS)
def test_a_test_of_the_guide_passes(name: str, engine: Engine) -> None:
    TESTS[name](engine)
