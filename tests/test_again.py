"""Tests that failed under load are run once more, alone, and only once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import again

ROOT = Path(__file__).parents[1]
SUITE = """
import os, pytest

def test_sound():
    pass

@pytest.mark.xdist_group("together")
def test_flaky():
    assert "PYTEST_XDIST_WORKER" not in os.environ

def test_broken():
    assert False
"""
PLUGINS = ("-p", "xdist", "-p", "no:hypothesispytest")


def test_few_failures_are_run_again_alone(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "tests.again", *PLUGINS, "-n", "1", "--dist", "loadgroup", "test_suite.py"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=250, check=False
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 1, done.stdout
    assert "failed under load, passed alone: test_suite.py::test_flaky" in lines
    assert "failed under load, failed alone: test_suite.py::test_broken" in lines
    assert "= 1 failed, 2 passed, 2 rerun in" in lines[-1]


def runs(monkeypatch: pytest.MonkeyPatch, *ended: tuple[int, list[str], str]) -> list[list[str]]:
    """Let runs of pytest end in these ways: exit code, failed tests, summary. Returns the options of the runs to come."""
    called: list[list[str]] = []

    def run(options: list[str]) -> again.Run:
        code, failed, summary = ended[len(called)]
        called.append(options)
        cache = Path(next(one for one in options if one.startswith("cache_dir=")).removeprefix("cache_dir="))
        (cache / "v" / "cache").mkdir(parents=True, exist_ok=True)
        (cache / "v" / "cache" / "lastfailed").write_text(json.dumps(dict.fromkeys(failed, True)))
        return again.told(code, f"===== {summary} =====\n")

    monkeypatch.setattr(again, "run", run)
    return called


def test_tests_that_pass_alone_are_named_and_the_run_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = "2 failed, 10 passed, 3 skipped, 1 error in 60.50s (0:01:00)"
    called = runs(monkeypatch, (1, ["a", "b", "c"], first), (0, [], "3 passed, 13 deselected in 2.00s"))
    assert again.main(["-n", "4"]) == 0
    assert called[1][-4:] == ["--last-failed", "--last-failed-no-failures=none", "-n", "0"]
    printed = capsys.readouterr().out.splitlines()
    assert printed[-4:-1] == [f"failed under load, passed alone: {name}" for name in "abc"]
    assert printed[-1].strip("= ") == "13 passed, 3 skipped, 3 rerun in 62.50s"


@pytest.mark.parametrize(
    ("code", "failed"), [(0, 0), (1, again.FEW + 1), (2, 1), (1, 0)], ids=["passed", "many", "interrupted", "unknown"]
)
def test_nothing_is_run_again(code: int, failed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    called = runs(monkeypatch, (code, [str(number) for number in range(failed)], "10 passed in 1.00s"))
    assert again.main([]) == code
    assert len(called) == 1


def test_a_test_that_is_skipped_the_second_time_has_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, (1, ["a"], "1 failed, 10 passed in 1.00s"), (0, [], "1 skipped in 1.00s"))
    assert again.main([]) == 1


def test_a_second_run_that_ends_early_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    runs(monkeypatch, (1, ["a"], "1 failed, 10 passed in 1.00s"), (3, [], ""))
    assert again.main([]) == 1
