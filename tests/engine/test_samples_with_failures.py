"""What a sample has cost counts in full: also what failed items, failed attempts and items that are not over have cost."""

from typing import Any

import pytest

import fanfold as ff
from tests.engine.pipelines import batch
from tests.installation import Installation


@pytest.mark.parametrize(
    ("failing", "retries", "cost"),
    [(0, 0, 20.0), (2, 0, 20.0), (2, 3, 50.0), (1, 0, 20.0), (1, 3, 80.0)],
    ids=["none", "half", "half in four attempts", "all", "all in four attempts"],
)
def test_a_sample_counts_what_failures_cost(
    installation: Installation, failing: int, retries: int, cost: float
) -> None:
    """Every attempt costs a dollar; one item of ``failing`` fails in each of its attempts."""

    def pay(item: Any) -> str:
        item.used(model="own", cost=1.0)
        if failing and item.input % failing == 0:
            raise ValueError("broken")
        return "done"

    client, retry = installation.client, ff.Retry(limit=retries, first=0)
    pipeline = installation.know(batch(handler=pay, retry=retry, tolerate=1.0))
    task = client.submit(pipeline, items=list(range(20)), sample=4)
    installation.work()
    made, paused = client.extrapolate(task.id), client.get(task.id)
    assert (paused.state, made.sampled, made.spent) == ("paused", 4, paused.spending.cost)
    assert made.live.expected == pytest.approx(cost)
    assert made.live.expected == pytest.approx(client.budget(task.id).projected)
    assert ("of which" in str(made.why)) is bool(failing)
    assert ("which are done" in str(made.why)) is (not failing)
    client.resume(task.id)
    installation.work()
    assert client.get(task.id).spending.cost == cost
    assert client.extrapolate(task.id).live.expected == pytest.approx(cost)


def test_a_sample_counts_what_items_that_are_not_over_have_cost(installation: Installation) -> None:
    def pay(item: Any) -> str:
        item.used(model="own", cost=1.0 if item.input == 0 else 5.0)
        if item.input:
            raise ff.HoldItem("look at it")
        return "done"

    client, pipeline = installation.client, installation.know(batch(handler=pay))
    task = client.submit(pipeline, items=[0, 1])
    installation.work()
    made = client.extrapolate(task.id)
    assert (made.spent, made.live.expected, client.budget(task.id).projected) == (6.0, 6.0, 6.0)
