"""A failed item waits the right time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanfold.errors import BadPipeline
from fanfold.model.retry import Retry


def test_waits_double_up_to_the_cap() -> None:
    retry = Retry(first=1, factor=2, cap=10, jitter=0)
    assert [retry.delay(failures) for failures in range(1, 7)] == [1, 2, 4, 8, 10, 10]


def test_luck_shortens_the_wait_by_at_most_the_share_of_jitter() -> None:
    retry = Retry(first=8, jitter=0.25)
    assert retry.delay(1, luck=0) == 8
    assert retry.delay(1, luck=1) == 6


@given(
    failures=st.integers(0, 100_000),
    first=st.floats(0, 1e6),
    factor=st.floats(1, 100),
    cap=st.floats(0, 1e6),
    jitter=st.floats(0, 1),
)
def test_a_wait_is_never_negative_and_never_above_the_cap(
    failures: int, first: float, factor: float, cap: float, jitter: float
) -> None:
    assert 0 <= Retry(3, first, factor, cap, jitter).delay(failures) <= cap


def test_items_that_fail_together_come_back_spread_out() -> None:
    retry = Retry(first=100)
    assert len({retry.delay(1) for _ in range(20)}) > 1


@pytest.mark.parametrize(
    "wrong",
    [{"limit": -1}, {"first": -0.1}, {"factor": 0.5}, {"cap": -1}, {"jitter": 1.1}, {"jitter": float("nan")}],
)
def test_a_rule_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadPipeline, match="is not valid"):
        Retry(**wrong)  # type: ignore[arg-type]


def test_a_limit_that_cannot_be_counted_is_refused() -> None:
    assert Retry(limit=32_766).limit == 32_766
    with pytest.raises(BadPipeline, match="at most 32766"):
        Retry(limit=32_767)
