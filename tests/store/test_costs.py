"""Sums of costs are right for every group, and parts of a cost are listed separately."""

from datetime import timedelta
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.model.endings import Ending
from fanfold.model.money.costs import GROUPS, total_of
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation


def call(item: int, cost: float | None, outcome: str = "taken", **more: Any) -> dict[str, Any]:
    tokens = {"input_tokens": 100, "output_tokens": 10, "cached_tokens": 40}
    known = {"item": item, "lease": 1, "provider": "fake", "model": "large", "outcome": outcome, "seconds": 1.0}
    return known | tokens | {"cost": cost} | more


@pytest.fixture
def books(installation: Installation, clock: HandClock) -> tuple[ff.Task, ff.Task]:
    """Two tasks of two owners, on two days."""
    installation.know(batch())
    hers = installation.client.submit(installation.pipelines[0], items=["a"], owner="alice")
    his = installation.client.submit(installation.pipelines[0], items=["b"], owner="bob")
    ids = {claimed.task: claimed.id for claimed in installation.worker("w").claim()}
    with installation.store.read() as tx:
        first, second = (ids[tx.tasks.resolve(task.id).number] for task in (hers, his))
    with installation.store.write() as tx:
        tx.calls.add([call(first, 1.0), call(first, 2.0, "empty"), call(first, 4.0, purpose="again")])
    clock.advance(86_400)
    with installation.store.write() as tx:
        tx.calls.add(
            [
                call(second, 8.0, purpose="fallback", model="small"),
                call(second, 16.0, purpose="retry"),
                call(second, None),
                call(second, None, "no answer"),
                call(second, None, "cached"),
            ]
        )
    return hers, his


def test_costs_are_added_up_by_every_group(installation: Installation, books: tuple[ff.Task, ff.Task]) -> None:
    hers, his = books
    expected = {
        "task": [(his.id, 24.0), (hers.id, 7.0)],
        "owner": [("bob", 24.0), ("alice", 7.0)],
        "day": [("2030-01-01", 7.0), ("2030-01-02", 24.0)],
        "model": [("fake:large", 23.0), ("fake:small", 8.0)],
        "provider": [("fake", 31.0)],
        "pipeline": [("batch", 31.0)],
    }
    assert set(expected) == set(GROUPS)
    for group, rows in expected.items():
        assert [(row.name, row.cost) for row in installation.client.costs(group)] == rows, group


def test_the_parts_of_a_cost_are_told_apart(installation: Installation, books: tuple[ff.Task, ff.Task]) -> None:
    his, hers = installation.client.costs("task")
    assert (hers.calls, hers.bad_answers, hers.retries, hers.fallbacks) == (3, 2.0, 4.0, 0.0)
    assert (his.calls, his.fallbacks, his.retries, his.bad_answers) == (3, 8.0, 16.0, 0.0)
    assert (his.unpriced, his.possibly_paid, his.cached) == (1, 1, 1)
    assert (hers.input_tokens, hers.cached_tokens, hers.output_tokens) == (300, 120, 30)
    total = total_of([hers, his])
    assert (total.cost, total.calls, total.possibly_paid) == (31.0, 6, 1)


def test_what_a_handler_has_used_is_no_rejected_answer_when_its_result_is_discarded(installation: Installation) -> None:
    """A pause, a lost lease and an error end an attempt; none of them rejects an answer."""
    installation.know(batch(retry=ff.Retry(limit=0)))
    task = installation.client.submit(installation.pipelines[0], items=["a", "b", "c"])
    worker = installation.worker("w")
    paused, lost, failed = (
        Settlement(claimed, Ending.FINISH, output='"done"', usage='{"cost": 1.5}', model="own")
        for claimed in worker.claim()
    )
    worker.settle(failed._replace(ending=Ending.FAIL, output=None, error_code="broken", error_message="broken"))
    installation.sql("UPDATE items SET lease = lease + 1 WHERE id = :item", item=lost.claimed.id)
    worker.settle(lost)
    installation.client.pause(task.id)
    worker.settle(paused)
    assert [call.outcome for call in installation.client.calls(task.id)] == ["broken", "lost", "release"]
    [row] = installation.client.costs("task")
    assert (row.cost, row.calls, row.bad_answers) == (4.5, 3, 0.0)


def test_costs_since_a_day_and_of_an_owner(
    installation: Installation, books: tuple[ff.Task, ff.Task], clock: HandClock
) -> None:
    client = installation.client
    assert [row.name for row in client.costs("owner", since="2030-01-02")] == ["bob"]
    assert [row.name for row in client.costs("owner", until="2030-01-02")] == ["alice"]
    assert [row.name for row in client.costs("owner", since=clock.now - timedelta(hours=1))] == ["bob"]
    assert [row.name for row in client.costs("owner", limit=1)] == ["bob"]
    with ff.Client(store=installation.store, owner="alice") as hers:
        assert [row.cost for row in hers.costs("day")] == [7.0], "others' books are not hers to see"
    with pytest.raises(ff.BadInput, match="cannot be added up by 'colour'"):
        client.costs("colour")
    with pytest.raises(ff.BadInput, match="not a day or a time"):
        client.costs(since="yesterday")
