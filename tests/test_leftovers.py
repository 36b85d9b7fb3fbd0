"""No test inherits what a command of an earlier test left in the process."""

import logging
import os

import pytest

from fanfold.running.terminal.models import limit_calls
from tests.leftovers import undone

CONCURRENCY = "FANFOLD_PROVIDERS_FAKE_CONCURRENCY"


def test_a_limit_of_calls_ends_with_the_test_whose_command_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CONCURRENCY, raising=False)
    monkeypatch.setenv("FANFOLD_PROVIDERS_OTHER_CONCURRENCY", "4")
    with undone():
        limit_calls("fake", 1)
        limit_calls("other", 1)
        assert os.environ[CONCURRENCY] == "1"
    assert CONCURRENCY not in os.environ
    assert os.environ["FANFOLD_PROVIDERS_OTHER_CONCURRENCY"] == "4"


def test_the_logging_of_a_command_ends_with_its_test() -> None:
    ours, handler = logging.getLogger("fanfold"), logging.NullHandler()
    before = ours.handlers[:], ours.level, ours.propagate
    with undone():
        ours.addHandler(handler)
        ours.setLevel(logging.CRITICAL)
        ours.propagate = not ours.propagate
    assert (ours.handlers, ours.level, ours.propagate) == before


def test_every_test_is_undone(request: pytest.FixtureRequest) -> None:
    assert "_own_process" in request.fixturenames
