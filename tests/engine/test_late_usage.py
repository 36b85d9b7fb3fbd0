"""A handler that was told to stop and runs on may still spend money: what it says then is counted as well, once."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.attempt import attempts, unstopped
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.attempt.settle_batch import count_late
from fanfold.errors import DatabaseProblem
from fanfold.model.endings import Ending
from fanfold.store.store import Transaction
from tests.engine.live import Live, Switch
from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coroutine counts as deaf soon, and the database is asked again at once."""
    monkeypatch.setattr(attempts, "DEAF_SECONDS", 0.3)
    monkeypatch.setattr(unstopped, "PAUSES", (0.0, 0.0, 0.0))


def spender(switch: Switch) -> Callable[[Any], str]:
    """A handler that spends before and after it is told to stop."""

    def spend(item: Any) -> str:
        item.used(model="own", cost=0.25, input_tokens=10)
        switch.wait()
        item.used(model="own", cost=0.5, input_tokens=7)
        return "paid"

    return spend


def spent(live: Live, task: ff.Task) -> tuple[float, float]:
    """What the task has cost by its ledger, and by its budget."""
    return sum(row.cost for row in live.client.costs()), live.client.budget(task.id).spent


def stopped_meanwhile(live: Live, task: ff.Task, switch: Switch) -> None:
    """Cancel the task while its handler runs, and let the handler end after it was given up."""
    switch.check()
    live.client.cancel(task.id)
    eventually(lambda: spent(live, task) == (0.25, 0.25))
    switch.free.set()


def test_a_thread_that_runs_on_is_paid_for(live: Live) -> None:
    switch = Switch()
    task = live.client.submit(live.know(batch(handler=spender(switch))), items=["a"], budget=9)
    with live.working():
        stopped_meanwhile(live, task, switch)
        eventually(lambda: spent(live, task) == (0.75, 0.75))
    [first, second] = live.sql("SELECT outcome, cost, input_tokens FROM calls ORDER BY id")
    assert (tuple(first)[1:], tuple(second)) == ((0.25, 10), ("late", 0.5, 7))


def test_each_item_of_a_batch_that_runs_on_is_paid_for(live: Live) -> None:
    switch = Switch()
    pipeline = ff.Pipeline("together", title="Together")

    @pipeline.each(batch=3)
    def make(items: Sequence[Any]) -> list[str]:
        items[0].used(model="own", cost=0.25)
        switch.wait()
        for item in items[1:]:
            item.used(model="own", cost=0.125)
        return ["paid" for _ in items]

    task = live.client.submit(live.know(pipeline), items=["a", "b", "c"], budget=9)
    with live.working():
        stopped_meanwhile(live, task, switch)
        eventually(lambda: spent(live, task) == (0.5, 0.5))
    assert live.sql("SELECT count(*), count(DISTINCT item) FROM calls") == [(3, 3)]


@pytest.mark.one_database
def test_a_coroutine_that_runs_on_is_paid_for(live: Live) -> None:
    switch = Switch()

    async def spend(item: Any) -> None:
        item.used(model="own", cost=0.25)
        await switch.wait_deaf()
        item.used(model="own", cost=0.5)

    task = live.client.submit(live.know(batch(handler=spend)), items=["a"], budget=9)
    with live.working():
        stopped_meanwhile(live, task, switch)
        eventually(lambda: spent(live, task) == (0.75, 0.75))


def test_it_is_counted_although_the_database_is_away_for_a_while(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    switch, tries = Switch(), []

    def count(tx: Transaction, late: Sequence[Settlement]) -> set[int]:
        tries.append(len(late))
        found = count_late(tx, late)
        if len(tries) < 3:
            raise DatabaseProblem("away", code="away")
        return found

    monkeypatch.setattr(unstopped, "count_late", count)
    task = live.client.submit(live.know(batch(handler=spender(switch))), items=["a"], budget=9)
    with live.working():
        stopped_meanwhile(live, task, switch)
        eventually(lambda: spent(live, task) == (0.75, 0.75))
    assert tries == [1, 1, 1]


def test_a_task_whose_budget_is_used_up_by_it_claims_no_more(live: Live) -> None:
    switch = Switch()

    def spend(item: Any) -> str:
        if item.input:
            switch.wait()
            item.used(model="own", cost=2)
        return "paid"

    task = live.client.submit(live.know(batch(handler=spend)), items=[True], budget=1)
    with live.working():
        switch.check()
        live.client.pause(task.id)
        eventually(lambda: live.sql("SELECT state FROM items") == [("pending",)])
        switch.free.set()
        eventually(lambda: spent(live, task) == (2.0, 2.0))
        with pytest.raises(ff.IllegalMove, match=r"used up: \$2.00 of \$1.00 spent. Raise the budget"):
            live.client.resume(task.id)
        live.client.raise_budget(task.id, to=10)
        live.client.resume(task.id)
        eventually(lambda: live.client.get(task.id).state == "completed")
    assert spent(live, task) == (4.0, 4.0)


def test_it_is_counted_once_although_its_transaction_is_repeated(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch(timeout=None)), items=["a"], budget=9)
    [claimed] = installation.worker().claim()
    late = Settlement(claimed, Ending.LOST, model="own", usage='{"cost": 0.5}')
    for _ in range(2):
        installation.store.transact(lambda tx: count_late(tx, [late]))
    [row] = installation.client.costs()
    assert row.cost == installation.client.budget(task.id).spent == 0.5
