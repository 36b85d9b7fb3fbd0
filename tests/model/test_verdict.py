"""A finished stage leads to the right verdict."""

import pytest

from fanfold.model.plan import Kind, PlannedStage
from fanfold.model.progress import Counts
from fanfold.model.verdict import Verdict, verdict

PLAIN = PlannedStage("a", Kind.EACH)
SHARE = PlannedStage("a", Kind.EACH, tolerate=0.25)
NUMBER = PlannedStage("a", Kind.EACH, tolerate=2)
FAST = PlannedStage("a", Kind.EACH, fail_fast=True)
FAST_BUT_PATIENT = PlannedStage("a", Kind.EACH, fail_fast=True, tolerate=1)
STEP = PlannedStage("a", Kind.STEP)


@pytest.mark.parametrize(
    ("stage", "counts", "expected"),
    [
        (PLAIN, {}, Verdict.CONTINUE),
        (PLAIN, {"done": 4}, Verdict.CONTINUE),
        (PLAIN, {"done": 3, "pending": 1}, Verdict.OPEN),
        (PLAIN, {"done": 3, "running": 1}, Verdict.OPEN),
        (PLAIN, {"done": 3, "retrying": 1}, Verdict.OPEN),
        (PLAIN, {"done": 3, "waiting": 1}, Verdict.OPEN),
        (PLAIN, {"failed": 3, "pending": 1}, Verdict.OPEN),
        (PLAIN, {"done": 3, "failed": 1}, Verdict.PARTIAL),
        (PLAIN, {"failed": 4}, Verdict.FAILED),
        (SHARE, {"done": 3, "failed": 1}, Verdict.CONTINUE),
        (SHARE, {"done": 2, "failed": 2}, Verdict.PARTIAL),
        (SHARE, {"failed": 4}, Verdict.FAILED),
        (NUMBER, {"done": 1, "failed": 2}, Verdict.CONTINUE),
        (NUMBER, {"done": 1, "failed": 3}, Verdict.PARTIAL),
        (FAST, {"done": 3, "pending": 9}, Verdict.OPEN),
        (FAST, {"failed": 1, "pending": 9}, Verdict.FAILED),
        (FAST, {"failed": 1, "done": 9}, Verdict.FAILED),
        (FAST_BUT_PATIENT, {"failed": 1, "pending": 9}, Verdict.OPEN),
        (FAST_BUT_PATIENT, {"failed": 2, "pending": 9}, Verdict.FAILED),
        (STEP, {"done": 1}, Verdict.CONTINUE),
        (STEP, {"failed": 1}, Verdict.FAILED),
    ],
)
def test_the_verdict_on_a_stage(stage: PlannedStage, counts: dict[str, int], expected: Verdict) -> None:
    assert verdict(stage, Counts(counts)) is expected
