"""Budgets hold under concurrent reservations, and their sums are exact."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import fanfold as ff
from fanfold.store.rows.money.budgets import BudgetRow, in_lock_order, task_scope
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation

SCOPES = ("task:1", "all@2030-01-01:")


class Rollback(Exception):
    """Ends a transaction without keeping anything."""


def put(installation: Installation, scope: str, cap: int, **rules: bool) -> None:
    with installation.store.write() as tx:
        tx.budgets.put(scope, cap, **rules)


def found(installation: Installation, scope: str) -> BudgetRow:
    with installation.store.read() as tx:
        row = tx.budgets.get(scope)
    assert row is not None
    return row


def reserve(installation: Installation, amount: int, *scopes: str) -> str | None:
    """Reserve as a call does: what is full ends the transaction."""
    full = None
    try:
        with installation.store.write() as tx:
            full = tx.budgets.reserve(scopes, amount, 60)
            if full is not None:
                raise Rollback
    except Rollback:
        pass
    return full


def test_a_budget_gives_what_it_has_and_not_more(installation: Installation) -> None:
    put(installation, "task:1", 100)
    assert [reserve(installation, 40, "task:1") for _ in range(3)] == [None, None, "task:1"]
    assert reserve(installation, 20, "task:1") is None
    assert found(installation, "task:1").reserved == 100


def test_what_one_budget_refuses_is_reserved_in_none(installation: Installation) -> None:
    put(installation, SCOPES[0], 1_000)
    put(installation, SCOPES[1], 100)
    assert [reserve(installation, 60, *SCOPES) for _ in range(2)] == [None, SCOPES[1]]
    assert [found(installation, scope).reserved for scope in SCOPES] == [60, 60]


def test_many_that_reserve_at_once_never_get_more_than_there_is(installation: Installation) -> None:
    put(installation, "task:1", 70)
    with ThreadPoolExecutor(8) as threads:
        given = list(threads.map(lambda _: reserve(installation, 1, "task:1"), range(160)))
    assert given.count(None) == 70
    assert found(installation, "task:1").reserved == 70


def test_an_unused_budget_is_never_full_unless_it_is_strict(installation: Installation) -> None:
    put(installation, "task:1", 10)
    put(installation, "task:2", 10, strict=True)
    put(installation, "task:3", 0)
    assert reserve(installation, 50, "task:1") is None, "one call shows what calls really cost"
    assert reserve(installation, 1, "task:1") == "task:1"
    assert reserve(installation, 50, "task:2") == "task:2"
    assert reserve(installation, 1, "task:3") == "task:3", "nothing may be spent at all"


def test_settling_takes_the_reservation_back_and_adds_the_cost(installation: Installation) -> None:
    put(installation, "task:1", 100)
    reserve(installation, 40, "task:1")
    reserve(installation, 40, "task:1")
    with installation.store.write() as tx:
        [settled] = tx.budgets.settle(["task:1", "task:gone"], 40, 7)
        tx.budgets.settle(["task:1"], 40, 0, unknown=40, unpriced=1)
    assert (settled.spent, settled.cap) == (7, 100)
    row = found(installation, "task:1")
    assert (row.spent, row.reserved, row.unknown, row.unpriced, row.taken) == (7, 0, 40, 1, 47)
    assert reserve(installation, 54, "task:1") == "task:1", "what may have been paid is not spent again"
    assert reserve(installation, 53, "task:1") is None


def test_sums_of_many_small_costs_are_exact(installation: Installation) -> None:
    put(installation, "task:1", 10**18)
    with installation.store.write() as tx:
        for _ in range(1_000):
            tx.budgets.settle(["task:1"], 0, 100_000_000_000_001)
    assert found(installation, "task:1").spent == 100_000_000_000_001_000


def test_a_reservation_counts_as_in_the_air_until_its_call_must_have_ended(
    installation: Installation, clock: HandClock
) -> None:
    put(installation, "task:1", 100)
    assert not found(installation, "task:1").is_open
    reserve(installation, 1, "task:1")
    clock.advance(59)
    assert found(installation, "task:1").is_open
    with installation.store.write() as tx:
        tx.budgets.reserve(["task:1"], 1, 0.5)
    assert found(installation, "task:1").is_open, "a shorter call does not end a longer one"
    clock.advance(2)
    assert not found(installation, "task:1").is_open


def test_another_cap_leaves_what_is_spent(installation: Installation) -> None:
    put(installation, "task:1", 100)
    reserve(installation, 30, "task:1")
    with installation.store.write() as tx:
        tx.budgets.settle(["task:1"], 30, 25)
    put(installation, "task:1", 50, strict=True, allow_unknown=True)
    row = found(installation, "task:1")
    assert (row.cap, row.spent, row.strict, row.allow_unknown) == (50, 25, True, True)


def test_the_budget_goes_with_its_task(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"], budget=5)
    with installation.store.read() as tx:
        number = tx.tasks.resolve(task.id).number
        assert tx.budgets.get(task_scope(number)) is not None
    installation.client.cancel(task.id)
    installation.client.delete(task.id)
    with installation.store.read() as tx:
        assert tx.budgets.get(task_scope(number)) is None


def test_calls_are_added_up_by_pipeline_model_and_cost(installation: Installation) -> None:
    def row(bucket: int, pipeline: str = "pdf") -> dict[str, object]:
        sums = {"calls": 1, "cost": 5, "input_tokens": 10, "output_tokens": 20, "guessed_tokens": 8}
        return {"pipeline": pipeline, "provider": "fake", "model": "large", "bucket": bucket, **sums}

    with installation.store.write() as tx:
        tx.usage_history.add([row(3), row(7)])
        tx.usage_history.add([row(7), row(7, "other")])
        tx.usage_history.add([])
    with installation.store.read() as tx:
        assert [(one.bucket, one.calls, one.guessed_tokens) for one in tx.usage_history.of("pdf", "fake", "large")] == [
            (3, 1, 8),
            (7, 2, 16),
        ]
        assert [(one.bucket, one.calls) for one in tx.usage_history.of_model("fake", "large")] == [(3, 1), (7, 3)]
        assert tx.usage_history.of("pdf", "fake", "small") == []


def test_a_budget_must_be_an_amount_of_money(installation: Installation) -> None:
    refused: tuple[Any, ...] = ("much", -1, float("nan"), True, [], "1e99")
    for wrong in refused:
        with pytest.raises(ff.BadInput, match="not an amount of money"):
            installation.client.submit(installation.know(batch()), items=["a"], budget=wrong)
    with pytest.raises(ff.BadInput, match="name the budget"):
        installation.client.submit(installation.know(batch()), items=["a"], strict_budget=True)


def test_budgets_of_several_tasks_are_locked_in_one_order() -> None:
    """Otherwise a transaction about two tasks and a call of one of them could wait for each other."""
    shared = ["all@2030-01-01:", "owner@2030-01:bob", "owner@:alice", "provider@:openai"]
    expected = ["task:1", "task:20", *shared[1:], shared[0]]
    assert in_lock_order(["task:20", *shared, "task:1", *shared]) == expected
