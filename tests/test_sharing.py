"""Tests that need a browser are sent to few workers, so that few browsers start."""

from pathlib import Path

from tests.conftest import SHARING, ByModule

HERE = Path(__file__).parent


def test_every_module_with_a_browser_runs_in_one_worker() -> None:
    browsing = [path for path in (HERE / "acceptance").glob("test_*.py") if "browser: Browser" in path.read_text()]
    assert len(browsing) > 10
    assert [str(path) for path in browsing if not str(path).endswith(SHARING)] == []


def test_all_tests_of_a_module_that_shares_are_one_group_and_others_are_not() -> None:
    scheduler = ByModule.__new__(ByModule)
    named = [f"tests/acceptance/test_table.py::test_{name}" for name in "ab"]
    assert len({scheduler._split_scope(name) for name in named}) == 1
    assert len({scheduler._split_scope(name.replace("table", "crashes")) for name in named}) == 2
