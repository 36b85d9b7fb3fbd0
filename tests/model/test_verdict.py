"""Is the right thing made of a stage that is over?"""

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
        (PLAIN, {}, Verdict.GO_ON),
        (PLAIN, {"done": 4}, Verdict.GO_ON),
        (PLAIN, {"done": 3, "pending": 1}, Verdict.OPEN),
        (PLAIN, {"done": 3, "running": 1}, Verdict.OPEN),
        (PLAIN, {"done": 3, "retrying": 1}, Verdict.OPEN),
        (PLAIN, {"done": 3, "waiting": 1}, Verdict.OPEN),
        (PLAIN, {"failed": 3, "pending": 1}, Verdict.OPEN),
        (PLAIN, {"done": 3, "failed": 1}, Verdict.PARTIAL),
        (PLAIN, {"failed": 4}, Verdict.FAILED),
        (SHARE, {"done": 3, "failed": 1}, Verdict.GO_ON),
        (SHARE, {"done": 2, "failed": 2}, Verdict.PARTIAL),
        (SHARE, {"failed": 4}, Verdict.FAILED),
        (NUMBER, {"done": 1, "failed": 2}, Verdict.GO_ON),
        (NUMBER, {"done": 1, "failed": 3}, Verdict.PARTIAL),
        (FAST, {"done": 3, "pending": 9}, Verdict.OPEN),
        (FAST, {"failed": 1, "pending": 9}, Verdict.FAILED),
        (FAST, {"failed": 1, "done": 9}, Verdict.FAILED),
        (FAST_BUT_PATIENT, {"failed": 1, "pending": 9}, Verdict.OPEN),
        (FAST_BUT_PATIENT, {"failed": 2, "pending": 9}, Verdict.FAILED),
        (STEP, {"done": 1}, Verdict.GO_ON),
        (STEP, {"failed": 1}, Verdict.FAILED),
    ],
)
def test_the_verdict_on_a_stage(stage: PlannedStage, counts: dict[str, int], expected: Verdict) -> None:
    assert verdict(stage, Counts(counts)) is expected
