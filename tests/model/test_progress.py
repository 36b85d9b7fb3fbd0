"""Progress is correct, and never decreases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.model.plan import Kind, Plan, PlannedStage
from fanfold.model.progress import Counts, percent

BOOK = Plan(
    (
        PlannedStage("split", Kind.SPLIT, weight=5),
        PlannedStage("pages", Kind.EACH, weight=90),
        PlannedStage("bind", Kind.MERGE, weight=5),
    )
)


@pytest.mark.parametrize(
    ("stage", "counts", "expected"),
    [
        ("split", Counts({"pending": 1}), 0),
        ("split", Counts({"running": 1}, share=0.5), 2.5),
        ("pages", Counts({"pending": 4}), 5),
        ("pages", Counts({"done": 1, "pending": 3}), 27.5),
        ("pages", Counts({"done": 1, "failed": 1, "pending": 2}), 50),
        ("pages", Counts({"done": 4}), 95),
        ("bind", Counts({"running": 1}), 95),
        ("bind", Counts({"done": 1}), 100),
        ("bind", Counts(), 95),
    ],
)
def test_pages_are_the_middle_ninety_percent(stage: str, counts: Counts, expected: float) -> None:
    assert percent(BOOK, "active", stage, counts) == expected


def test_a_completed_task_is_at_a_hundred() -> None:
    assert percent(BOOK, "completed", "bind", Counts()) == 100


@given(st.lists(st.sampled_from(["claim", "finish", "fail", "back_off"]), max_size=60), st.integers(1, 12))
def test_progress_never_goes_back_while_work_goes_on(steps: list[str], total: int) -> None:
    """Whatever workers do with the items of each stage in turn."""
    seen = [0.0]
    for stage, size in (("split", 1), ("pages", total), ("bind", 1)):
        states = {"pending": size, "running": 0, "done": 0, "failed": 0, "retrying": 0}
        for step in steps:
            source = {"claim": "pending"}.get(step, "running")
            target = {"claim": "running", "finish": "done", "fail": "failed", "back_off": "retrying"}[step]
            if states[source]:
                states[source] -= 1
                states[target] += 1
            seen.append(percent(BOOK, "active", stage, Counts(dict(states))))
        seen.append(percent(BOOK, "active", stage, Counts({"done": size})))
    assert seen == sorted(seen)


def test_counts_add_up() -> None:
    counts = Counts({"done": 3, "failed": 2, "pending": 1})
    assert (counts.total, counts.settled, counts.started, counts["running"]) == (6, 5, True, 0)
    assert not Counts({"pending": 2}).started
