"""The plan stored with a task is complete."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.errors import NotFound
from fanfold.model.plan import ON_CANCELLED, ON_FAILED, Kind, Plan, PlannedStage

names = st.text("abcdefgh", min_size=1, max_size=8)
stages = st.builds(
    PlannedStage,
    name=names,
    kind=st.sampled_from(Kind),
    gate=st.booleans(),
    ready=st.text(max_size=10),
    doing=st.text(max_size=10),
    tolerate=st.floats(0, 100),
    fail_fast=st.booleans(),
    weight=st.floats(0, 100),
)
BOOK = Plan(
    (
        PlannedStage("chapters", Kind.SPLIT),
        PlannedStage("translate", Kind.EACH, tolerate=0.5),
        PlannedStage("check", Kind.STEP, gate=True),
        PlannedStage("bind", Kind.MERGE, gate=True),
    ),
    on_failed=True,
)


@given(st.builds(Plan, st.tuples(stages) | st.tuples(stages, stages), st.booleans(), st.booleans(), st.booleans()))
def test_a_plan_comes_back_from_its_row_as_it_went_in(plan: Plan) -> None:
    assert Plan.from_json(plan.to_json()) == plan


def test_a_plan_of_a_newer_version_is_read_without_what_is_unknown() -> None:
    found = json.loads(BOOK.to_json())
    found["colour"] = "blue"
    for stage in found["stages"]:
        stage["batch"] = 100
    assert Plan.from_json(json.dumps(found)) == BOOK


def test_stages_follow_each_other() -> None:
    assert BOOK.before("chapters") is None
    assert BOOK.after("chapters") == BOOK.stage("translate")
    assert BOOK.before("bind") == BOOK.stage("check")
    assert BOOK.after("bind") is None


def phase(*names: str) -> list[PlannedStage]:
    kinds = {"split": Kind.SPLIT, "merge": Kind.MERGE, "step": Kind.STEP}
    return [PlannedStage(name, kinds.get(name.rstrip("12"), Kind.EACH)) for name in names]


TWO_PHASES = Plan(tuple(phase("split1", "a", "b", "merge1", "split2", "c", "merge2", "step")))


def test_a_plan_knows_the_merge_that_comes_next_and_the_last_one() -> None:
    assert [getattr(TWO_PHASES.next_merge(name), "name", None) for name in ("a", "b", "merge1", "c", "merge2")] == [
        "merge1", "merge1", "merge2", "merge2", None,
    ]  # fmt: skip
    assert TWO_PHASES.last_merge() == TWO_PHASES.stage("merge2")


def test_stages_of_many_items_form_chains() -> None:
    assert TWO_PHASES.chains() == [["a", "b"], ["c"]]
    assert TWO_PHASES.chains("b") == [["a"]]
    assert TWO_PHASES.chains("split1") == []
    assert [TWO_PHASES.followers(name) for name in ("a", "b", "c", "merge1")] == [["b"], [], [], []]


def test_a_stage_that_was_passed_tolerates_what_failed_then() -> None:
    passed = TWO_PHASES.passing({"a": 2})
    assert [stage.tolerated(5) for stage in passed.stages[1:3]] == [2, 0]
    assert Plan.from_json(passed.to_json()) == passed


def test_a_merge_binds_the_nearest_stage_of_many_items_before_it() -> None:
    assert BOOK.last_each("bind") == BOOK.stage("translate")
    assert BOOK.last_each("chapters") is None


@pytest.mark.parametrize("name", [ON_FAILED, ON_CANCELLED])
def test_a_compensation_stands_outside_the_order(name: str) -> None:
    assert BOOK.stage(name).doing == "compensating"
    assert BOOK.before(name) is None
    assert BOOK.after(name) is None
    assert BOOK.index(name) == len(BOOK.stages)


def test_an_unknown_stage_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(NotFound, match=r"no stage 'blind'.*chapters, translate, check, bind"):
        BOOK.stage("blind")


def test_straight_through_takes_all_gates_away_and_nothing_else() -> None:
    straight = BOOK.without_gates()
    assert not any(stage.gate for stage in straight.stages)
    assert [stage.name for stage in straight.stages] == [stage.name for stage in BOOK.stages]
    assert straight.on_failed


@pytest.mark.parametrize(
    ("tolerate", "total", "allowed"),
    [(0, 10, 0), (3, 10, 3), (1, 10, 1), (0.1, 10, 1), (0.1, 9, 0), (0.5, 3, 1), (0.29, 100, 29), (0.99, 100, 99)],
)
def test_a_tolerance_below_one_is_a_share_and_otherwise_a_number(tolerate: float, total: int, allowed: int) -> None:
    assert PlannedStage("a", Kind.EACH, tolerate=tolerate).tolerated(total) == allowed
