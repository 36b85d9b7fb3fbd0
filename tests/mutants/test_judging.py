"""A killer counts only if it failed because of the missing guard."""

import pytest

from tests.mutants.__main__ import judged

TEST = "tests/store/test_claim.py::test_a_claim"
SUMMARY = "=========================== short test summary info ============================\n"


def said(error: str, kind: str = "FAILED") -> str:
    return f"    def test_a_claim():\nE       {error}\n{SUMMARY}{kind} {TEST} - {error}\n1 failed in 0.1s\n"


def test_a_test_that_fails_is_believed() -> None:
    found = judged(TEST, said("assert 2 == 1"))
    assert found is not None
    assert (found.killer, found.seen, found.is_slow) == (TEST, "assert 2 == 1", False)


@pytest.mark.parametrize("error", ["AssertionError: not within 60 s: until", "Failed: Timeout (>120.0s) from pytest"])
def test_a_test_that_waited_in_vain_is_tried_again_with_the_guard(error: str) -> None:
    found = judged(TEST, said(error))
    assert found is not None
    assert found.is_slow


@pytest.mark.parametrize("error", ["ImportError: no name", "NameError: name 'x' is not defined", "SyntaxError: no"])
def test_a_copy_that_does_not_run_is_no_evidence(error: str) -> None:
    assert judged(TEST, said(error)) is None


def test_an_error_before_the_test_began_is_no_evidence() -> None:
    assert judged(TEST, said("OSError: the server did not start", "ERROR")) is None


def test_a_seed_is_believed_with_its_violation_only() -> None:
    found = judged("sqlite 1-30", "seed 7: Violation: moved on twice\n")
    assert found is not None
    assert (found.killer, found.seen) == ("sqlite seed 7", "moved on twice")
    assert judged("sqlite 1-30", "Traceback (most recent call last):\nOSError: no space\n") is None
